# Files inside the program.

# adagp_embed(AREA/FOLDER HEADER TABLE FILES...) adds to the library adagp_FOLDER a source file. It defines what
# adagp/AREA/FOLDER/HEADER declares: adagp::FOLDER::TABLE, the names and contents of the files.
function(adagp_embed path header table)
  cmake_path(GET path FILENAME _folder)
  set(_files ${ARGN})
  list(SORT _files)
  list(JOIN _files "|" _joined)
  set(_output ${CMAKE_CURRENT_BINARY_DIR}/${table}.cpp)
  set(_script ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  add_custom_command(
    OUTPUT ${_output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${_output} -DHEADER=adagp/${path}/${header}
            -DNAMESPACE=adagp::${_folder} -DTABLE=${table} "-DFILES=${_joined}" -P ${_script}
    DEPENDS ${_files} ${_script}
    VERBATIM)
  if(ADAGP_PYTHON_PACKAGE)  # python/ compiles the file in a target of its own
    add_custom_target(adagp_${table} DEPENDS ${_output})
    set_property(GLOBAL APPEND PROPERTY ADAGP_EMBEDDED adagp_${table})
  endif()
  target_sources(adagp_${_folder} PRIVATE ${_output})
endfunction()
