# LibTorch has gloo's code but not its headers, which runs of several processes need on the CPU. Those of
# the distribution may be of another version, and gloo's own version number never changes: so a small
# program is compiled against them, linked with LibTorch and run.
find_path(ADAGP_GLOO_INCLUDE gloo/algorithm.h HINTS ${ADAGP_DEPS_DIR}/include)
add_library(adagp_gloo INTERFACE)

function(adagp_try_gloo result)
  set(_probe ${CMAKE_BINARY_DIR}/CMakeFiles/gloo_probe)
  set(_log ${CMAKE_BINARY_DIR}/gloo_probe.log)
  set(_include -isystem ${ADAGP_TORCH_DIR}/include -isystem ${ADAGP_TORCH_DIR}/include/torch/csrc/api/include)
  if(ADAGP_DEPS_DIR)
    list(APPEND _include -isystem ${ADAGP_DEPS_DIR}/include)
  endif()
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} -std=c++20 -w -DUSE_C10D_GLOO=1 ${_include}
      -c ${CMAKE_SOURCE_DIR}/cmake/gloo_probe.cpp -o ${_probe}.o
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}  # the same for every checkout: ccache knows it again
    RESULT_VARIABLE _failed OUTPUT_VARIABLE _text ERROR_VARIABLE _text)
  set(_step "they do not compile with it")
  if(NOT _failed)
    set(_step "what is compiled with them does not link with it")
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} ${_probe}.o -o ${_probe} -L${ADAGP_TORCH_DIR}/lib
        -Wl,--no-as-needed -ltorch_cpu -lc10 -Wl,--allow-shlib-undefined -Wl,-rpath,${ADAGP_TORCH_DIR}/lib -lpthread
      RESULT_VARIABLE _failed OUTPUT_VARIABLE _text ERROR_VARIABLE _text)
  endif()
  if(NOT _failed AND NOT CMAKE_CROSSCOMPILING)
    set(_step "an all-reduce of two ranks fails")
    execute_process(COMMAND ${_probe} TIMEOUT 120
      RESULT_VARIABLE _failed OUTPUT_VARIABLE _text ERROR_VARIABLE _text)
  endif()
  if(_failed)
    file(WRITE ${_log} "${_text}")
    message(STATUS "gloo: the headers in ${ADAGP_GLOO_INCLUDE} do not fit LibTorch ${ADAGP_FOUND_TORCH}: ${_step} "
      "(see ${_log}); built without it")
    set(${result} FALSE PARENT_SCOPE)
  else()
    set(${result} TRUE PARENT_SCOPE)
  endif()
  file(REMOVE ${_probe} ${_probe}.o)
endfunction()

if(ADAGP_GLOO_INCLUDE)
  # Asked again when anything of it changes.
  set(_asked "${ADAGP_GLOO_INCLUDE} ${ADAGP_TORCH_DIR} ${ADAGP_FOUND_TORCH} ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}")
  if(NOT _asked STREQUAL "${ADAGP_GLOO_ASKED}")
    adagp_try_gloo(_works)
    set(ADAGP_GLOO_WORKS ${_works} CACHE INTERNAL "gloo's headers fit LibTorch")
    set(ADAGP_GLOO_ASKED "${_asked}" CACHE INTERNAL "what ADAGP_GLOO_WORKS was found with")
  endif()
  if(ADAGP_GLOO_WORKS)
    target_compile_definitions(adagp_gloo INTERFACE USE_C10D_GLOO=1)
    message(STATUS "gloo: ${ADAGP_GLOO_INCLUDE}/gloo")
  else()
    target_compile_definitions(adagp_gloo INTERFACE ADAGP_GLOO_UNFIT=1)
  endif()
else()
  message(STATUS "gloo: not found, built without it")
endif()
