# Compiler settings shared by every target, and the two tools that shorten a build when present.
find_program(ADAGP_CCACHE ccache)
if(ADAGP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ADAGP_CCACHE})
endif()
find_program(ADAGP_MOLD mold)
if(ADAGP_MOLD AND NOT ADAGP_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()

add_library(adagp_options INTERFACE)
target_compile_options(adagp_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Werror>)
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
if(ADAGP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
