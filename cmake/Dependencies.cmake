# Libraries from the distribution. Header-only ones are required; what only widens the formats we
# read is optional, and `adagp doctor` names what is missing.
#
# ADAGP_DEPS_DIR may hold a copy of the header-only libraries (include/) for machines without packages.
set(ADAGP_DEPS_DIR "$ENV{ADAGP_DEPS_DIR}" CACHE PATH "Folder with include/ of the header-only libraries and googletest/")

add_library(adagp_headers INTERFACE)
target_compile_features(adagp_headers INTERFACE cxx_std_20)  # exported: our headers are C++20
if(ADAGP_DEPS_DIR)
  target_include_directories(adagp_headers SYSTEM INTERFACE $<BUILD_INTERFACE:${ADAGP_DEPS_DIR}/include>)
  list(APPEND CMAKE_REQUIRED_INCLUDES ${ADAGP_DEPS_DIR}/include)
endif()
include(CheckIncludeFileCXX)
foreach(_header CLI/CLI.hpp toml++/toml.h nlohmann/json.hpp fmt/core.h spdlog/spdlog.h)
  string(MAKE_C_IDENTIFIER "ADAGP_HAVE_${_header}" _var)
  find_path(${_var} ${_header} HINTS ${ADAGP_DEPS_DIR}/include)
  if(NOT ${_var})
    message(FATAL_ERROR "header ${_header} not found: run scripts/setup.sh --sim (docs/troubleshooting.md)")
  endif()
endforeach()
# fmt and spdlog are used header-only: the packages' shared libraries would be one more thing to ship.
target_compile_definitions(adagp_headers INTERFACE FMT_HEADER_ONLY=1 SPDLOG_FMT_EXTERNAL=1)

find_package(Threads REQUIRED)

function(adagp_optional name header library)
  string(TOUPPER ${name} upper)
  find_path(ADAGP_${upper}_INCLUDE ${header})
  find_library(ADAGP_${upper}_LIBRARY ${library})
  add_library(adagp_${name} INTERFACE)
  if(ADAGP_${upper}_INCLUDE AND ADAGP_${upper}_LIBRARY)
    target_compile_definitions(adagp_${name} INTERFACE ADAGP_HAVE_${upper}=1)
    target_link_libraries(adagp_${name} INTERFACE ${ADAGP_${upper}_LIBRARY})
    message(STATUS "${name}: ${ADAGP_${upper}_LIBRARY}")
  else()
    message(STATUS "${name}: not found, built without it")
  endif()
endfunction()
adagp_optional(turbojpeg turbojpeg.h turbojpeg)
adagp_optional(jpeg jpeglib.h jpeg)  # parts of JPEG files; libjpeg-turbo's own interface
adagp_optional(png png.h png)
if(ADAGP_ARCHIVES)
  adagp_optional(archive archive.h archive)
else()
  add_library(adagp_archive INTERFACE)
endif()
adagp_optional(pugixml pugixml.hpp pugixml)
