# One static library per folder of src/adagp. The DEPENDS lists below are the include directions of
# ARCHITECTURE.md; tests/include_directions.py checks that the #includes agree.
function(adagp_folder name)
  cmake_parse_arguments(ARG "TORCH;COLD" "" "DEPENDS;LIBS;EXCLUDE" ${ARGN})
  file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(ARG_EXCLUDE)
    list(FILTER _sources EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  adagp_library(${name} "${_sources}" ${ARGN})
endfunction()

function(adagp_library name sources)
  cmake_parse_arguments(ARG "TORCH;COLD" "" "DEPENDS;LIBS;EXCLUDE" ${ARGN})
  add_library(adagp_${name} STATIC ${sources})
  target_include_directories(adagp_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  target_link_libraries(adagp_${name} PRIVATE $<BUILD_INTERFACE:adagp_options>)
  target_link_libraries(adagp_${name} PUBLIC adagp_headers ${ARG_LIBS})
  foreach(_dep ${ARG_DEPENDS})
    target_link_libraries(adagp_${name} PUBLIC adagp_${_dep})
  endforeach()
  if(ARG_TORCH)
    target_link_libraries(adagp_${name} PUBLIC adagp_torch)
  else()
    # Plans, rates and simulated numbers have the same bits on every CPU and at every level of optimization.
    target_compile_options(adagp_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  endif()
  if(ARG_COLD)
    adagp_cold(adagp_${name})
  endif()
  # Torch-free folders are small enough for one parse of the standard and JSON headers.
  set(_batch 0)
  if(ARG_TORCH)
    set(_batch 24)
  endif()
  set_target_properties(adagp_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${_batch} EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY ADAGP_LIBRARIES adagp_${name})
endfunction()

# Code that parses, prints and calls others: -O1 compiles a fifth to a third sooner, and what
# takes time at run time is elsewhere, in LibTorch, accel, pipeline and scalesim.
function(adagp_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
