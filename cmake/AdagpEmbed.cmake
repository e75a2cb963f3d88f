# Files inside the program.

# adagp_embed(OUTPUTS HEADER TABLE FILES...) appends to the list OUTPUTS a source file. It defines what
# adagp/<this folder>/HEADER declares: adagp::<this folder>::TABLE, the names and contents of the files.
function(adagp_embed outputs header table)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME _folder)
  set(_files ${ARGN})
  list(SORT _files)
  list(JOIN _files "|" _joined)
  set(_output ${CMAKE_CURRENT_BINARY_DIR}/${table}.cpp)
  set(_script ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  add_custom_command(
    OUTPUT ${_output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${_output} -DHEADER=adagp/${_folder}/${header}
            -DNAMESPACE=adagp::${_folder} -DTABLE=${table} "-DFILES=${_joined}" -P ${_script}
    DEPENDS ${_files} ${_script}
    VERBATIM)
  if(ADAGP_PYTHON_PACKAGE)  # python/ compiles the file in a target of its own
    add_custom_target(adagp_${table} DEPENDS ${_output})
    set_property(GLOBAL APPEND PROPERTY ADAGP_EMBEDDED adagp_${table})
  endif()
  set(${outputs} ${${outputs}} ${_output} PARENT_SCOPE)
endfunction()
