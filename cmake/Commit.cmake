# cmake -DSOURCE=... -DFILE=... -P Commit.cmake: writes a source file with the commit, when it changed. Run by every
# build, since a commit changes no file that CMake watches.
set(_commit "")
find_program(_git git)
if(_git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${_git} -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${_git} -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE _changed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(_commit AND NOT _changed STREQUAL "")
    string(APPEND _commit "+")
  endif()
endif()
set(_text "#include \"adagp/engine/run/commit.h\"
std::string adagp::run::commit() { return \"${_commit}\"; }
")
set(_old "")
if(EXISTS ${FILE})
  file(READ ${FILE} _old)
endif()
if(NOT _old STREQUAL _text)
  file(WRITE ${FILE} "${_text}")
endif()
