# A part of `cmake --install`: installs ADAGP_HEADERS (paths below ADAGP_HEADER_ROOT) and every header of
# ours that they include, directly or through others, to ADAGP_HEADER_DESTINATION below the prefix.
cmake_policy(PUSH)
cmake_policy(VERSION 3.22)  # an install script has no policies of its own
set(_todo ${ADAGP_HEADERS})
set(_seen ${_todo})
while(_todo)
  list(POP_FRONT _todo _header)
  get_filename_component(_folder ${_header} DIRECTORY)
  file(INSTALL ${ADAGP_HEADER_ROOT}/${_header}
    DESTINATION ${CMAKE_INSTALL_PREFIX}/${ADAGP_HEADER_DESTINATION}/${_folder})
  file(STRINGS ${ADAGP_HEADER_ROOT}/${_header} _lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]adagp/")
  foreach(_line IN LISTS _lines)
    string(REGEX REPLACE "^[^<\"]*[<\"](adagp/[^>\"]+)[>\"].*" "\\1" _included "${_line}")
    if(NOT _included IN_LIST _seen)
      list(APPEND _todo ${_included})
      list(APPEND _seen ${_included})
    endif()
  endforeach()
endwhile()
cmake_policy(POP)
