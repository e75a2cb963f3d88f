# Compiler settings shared by every target, and the two tools that shorten a build where they work.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12 OR
   CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; "
    "adagp is C++20 and needs g++ 12 or clang 14 (or newer): install one (apt-get install g++-12) and "
    "pass it in a new build folder: make clean && make CMAKE_ARGS=-DCMAKE_CXX_COMPILER=g++-12")
endif()

# ccache works when it compiles an empty file; it cannot where its folder is not writable, say.
find_program(ADAGP_CCACHE ccache)
if(ADAGP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(_probe ${CMAKE_BINARY_DIR}/CMakeFiles/ccache_probe)
  file(WRITE ${_probe}.cpp "int probe() { return 0; }\n")
  execute_process(COMMAND ${ADAGP_CCACHE} ${CMAKE_CXX_COMPILER} -c ${_probe}.cpp -o ${_probe}.o
    RESULT_VARIABLE _failed OUTPUT_QUIET ERROR_QUIET)
  if(_failed)
    message(STATUS "ccache: ${ADAGP_CCACHE} does not work with ${CMAKE_CXX_COMPILER}, not used")
  else()
    # What ccache asks for where a header is precompiled; without it, it would keep nothing.
    set(_sloppiness pch_defines,time_macros)
    if(DEFINED ENV{CCACHE_SLOPPINESS})
      string(APPEND _sloppiness ",$ENV{CCACHE_SLOPPINESS}")
    endif()
    # Paths below the checkout are taken relative to it, so that another clone finds what this one compiled (not with
    # debug information, which names the folder).
    set(_base ${CMAKE_SOURCE_DIR})
    if(DEFINED ENV{CCACHE_BASEDIR})
      set(_base $ENV{CCACHE_BASEDIR})
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=${_sloppiness}
      CCACHE_BASEDIR=${_base} ${ADAGP_CCACHE})
    if(NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endif()
# mold: g++ before 12.1 does not know it, and a mold older than the compiler may refuse its objects.
find_program(ADAGP_MOLD mold)
if(ADAGP_MOLD AND NOT ADAGP_FUZZ)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=mold)
  check_cxx_source_compiles("#include <iostream>\nint main() { std::cout << 1; }" ADAGP_MOLD_LINKS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(ADAGP_MOLD_LINKS)
    add_link_options(-fuse-ld=mold)
  else()
    message(STATUS "mold: ${ADAGP_MOLD} does not link what ${CMAKE_CXX_COMPILER} compiles, not used")
  endif()
endif()

add_library(adagp_options INTERFACE)
target_compile_options(adagp_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(ADAGP_WERROR)
  target_compile_options(adagp_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives inside inlined library code at -O2 and above.
  target_compile_options(adagp_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow
      -Wno-restrict -Wno-dangling-pointer>)
endif()
if(ADAGP_ASAN)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(ADAGP_TSAN)
  # -Wno-tsan: LibTorch's headers have fences, which g++'s sanitizer does not follow.
  add_compile_options(-fsanitize=thread $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
endif()
if(ADAGP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
