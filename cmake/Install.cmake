# cmake --install and find_package(adagp).
#
# adagp::adagp is every library at once; adagp::schedule, adagp::train, ... are the single ones.
# docs/library.md says what other projects may use.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(_libraries GLOBAL PROPERTY ADAGP_LIBRARIES)
# The program already has the name adagp, so the umbrella is another target with that export name.
add_library(adagp_umbrella INTERFACE)
target_link_libraries(adagp_umbrella INTERFACE ${_libraries})
set_target_properties(adagp_umbrella PROPERTIES EXPORT_NAME adagp)
add_library(adagp::adagp ALIAS adagp_umbrella)

# Their names without the prefix, and what they stand on.
set(_parts adagp_headers adagp_turbojpeg adagp_jpeg adagp_png adagp_archive adagp_pugixml)
if(ADAGP_TORCH)
  list(APPEND _parts adagp_torch)
endif()
foreach(_part ${_parts})
  string(REPLACE "adagp_" "" _name ${_part})
  set_target_properties(${_part} PROPERTIES EXPORT_NAME ${_name})
endforeach()

install(TARGETS ${_libraries} ${_parts} adagp_umbrella EXPORT adagp
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# The umbrella headers name the public ones. Installed are these and what they include, and no others.
# The includes are followed when `cmake --install` runs, so that no list is out of date.
set(_umbrellas adagp/simulator.h)
if(ADAGP_TORCH)
  list(APPEND _umbrellas adagp/training.h)
endif()
if(ADAGP_TORCH AND ADAGP_RIVALS)
  list(APPEND _umbrellas adagp/rivals/rivals.h)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/src/adagp/adagp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/adagp)
install(CODE "set(ADAGP_HEADER_ROOT [[${CMAKE_SOURCE_DIR}/src]])
set(ADAGP_HEADERS [[${_umbrellas}]])
set(ADAGP_HEADER_DESTINATION [[${CMAKE_INSTALL_INCLUDEDIR}]])")
install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/InstallHeaders.cmake)

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/adagp)
install(EXPORT adagp NAMESPACE adagp:: FILE adagpTargets.cmake DESTINATION ${_package})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/adagpConfig.cmake.in
  ${CMAKE_BINARY_DIR}/adagpConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/adagpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/adagpConfig.cmake ${CMAKE_BINARY_DIR}/adagpConfigVersion.cmake
  ${CMAKE_SOURCE_DIR}/cmake/AdagpTorchVersion.cmake DESTINATION ${_package})
