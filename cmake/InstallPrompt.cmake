# Runs at installation: the program writes its manual pages and completion scripts. ADAGP_PROGRAM is
# the built program; a program for another CPU cannot be run here and is installed without them.
set(_prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
execute_process(COMMAND ${ADAGP_PROGRAM} -q completion man -o ${_prefix}/share/man/man1 RESULT_VARIABLE _result
                ERROR_VARIABLE _error)
if(NOT _result EQUAL 0)
  message(STATUS "Not installed: manual pages and completion scripts (${ADAGP_PROGRAM}: ${_result} ${_error})")
  return()
endif()
foreach(_place bash:bash-completion/completions/adagp zsh:zsh/site-functions/_adagp
        fish:fish/vendor_completions.d/adagp.fish)
  string(REPLACE ":" ";" _place ${_place})
  list(GET _place 0 _shell)
  list(GET _place 1 _file)
  get_filename_component(_folder ${_prefix}/share/${_file} DIRECTORY)
  file(MAKE_DIRECTORY ${_folder})
  execute_process(COMMAND ${ADAGP_PROGRAM} completion ${_shell} OUTPUT_FILE ${_prefix}/share/${_file}
                  COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "Installing: ${_prefix}/share/${_file}")
endforeach()
