# LibTorch from the PyPI wheel, as a target of our own: find_package(Torch) insists on a CUDA
# toolkit although a C++ program needs none to link the wheel's libraries.
#
# Looked for in ADAGP_TORCH_DIR, then in .venv, then in the python3 on the path.
# A folder remembered from a .venv that was rebuilt since is looked for again.
string(FIND "${ADAGP_TORCH_DIR}" "${CMAKE_SOURCE_DIR}/.venv/" _in_venv)
if(_in_venv EQUAL 0 AND NOT EXISTS "${ADAGP_TORCH_DIR}/lib/libtorch_cpu.so")
  set(ADAGP_TORCH_DIR "")
endif()
if(NOT ADAGP_TORCH_DIR)
  set(_found "")
  file(GLOB _candidates ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  foreach(_dir ${_candidates})
    if(EXISTS ${_dir}/lib/libtorch_cpu.so)
      set(_found ${_dir})
    endif()
  endforeach()
  if(NOT _found)
    execute_process(
      COMMAND python3 -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(ADAGP_TORCH_DIR "${_found}" CACHE PATH "Folder of the torch package (holds include/ and lib/)" FORCE)
endif()
if(NOT EXISTS ${ADAGP_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found: no '${ADAGP_TORCH_DIR}/lib/libtorch_cpu.so' (looked for ADAGP_TORCH_DIR, else .venv, else python3's torch). "
    "Run scripts/setup.sh, or pass -DADAGP_TORCH_DIR=<folder of the torch package>, "
    "or build without the engine: -DADAGP_TORCH=OFF")
endif()

# Which version it is: too old a one fails in the middle of the build, with messages that do not say why.
include(AdagpTorchVersion)
adagp_torch_version(${ADAGP_TORCH_DIR} ADAGP_FOUND_TORCH)
string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" _numbers "${ADAGP_FOUND_TORCH}")
set(_oldest 2.11.0)
set(_newest_tried 2.11.0)
if(ADAGP_TORCH_VERSION AND _numbers AND NOT _numbers VERSION_EQUAL ADAGP_TORCH_VERSION)
  message(FATAL_ERROR "ADAGP_TORCH_VERSION=${ADAGP_TORCH_VERSION}, but ${ADAGP_TORCH_DIR} is LibTorch ${ADAGP_FOUND_TORCH}: "
    "'make build ADAGP_TORCH_VERSION=${ADAGP_TORCH_VERSION}' installs and takes it, "
    "or pass -DADAGP_TORCH_DIR=<folder of that torch package>")
elseif(_numbers AND _numbers VERSION_LESS _oldest)
  message(FATAL_ERROR "${ADAGP_TORCH_DIR} is LibTorch ${ADAGP_FOUND_TORCH}; adagp needs ${_oldest} or newer: run "
    "scripts/setup.sh, or pass -DADAGP_TORCH_DIR=<folder of a newer torch package>")
elseif(NOT _numbers)
  message(STATUS "LibTorch: ${ADAGP_TORCH_DIR} does not say its version; ${_newest_tried} was tried")
elseif(_numbers VERSION_GREATER _newest_tried)
  message(STATUS "LibTorch: ${ADAGP_FOUND_TORCH} is newer than what was tried (${_newest_tried}): if it does not compile, use that one")
endif()

# LibTorch uses the shared libstdc++. A compiler that only has the static one gives the program a
# second copy of the library's state, and it aborts in the destructors at exit.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so
  OUTPUT_VARIABLE _stdlib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(_stdlib STREQUAL "libstdc++.so")
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} has no shared libstdc++, which LibTorch needs; "
    "choose another compiler: -DCMAKE_CXX_COMPILER=/usr/bin/g++")
endif()

add_library(adagp_torch INTERFACE)
target_compile_definitions(adagp_torch INTERFACE ADAGP_WITH_TORCH=1)  # exported: adagp/adagp.h asks
target_include_directories(adagp_torch SYSTEM INTERFACE
  $<BUILD_INTERFACE:${ADAGP_TORCH_DIR}/include>
  $<BUILD_INTERFACE:${ADAGP_TORCH_DIR}/include/torch/csrc/api/include>)
target_link_directories(adagp_torch INTERFACE $<BUILD_INTERFACE:${ADAGP_TORCH_DIR}/lib>)
target_link_libraries(adagp_torch INTERFACE $<BUILD_INTERFACE:torch_cpu> $<BUILD_INTERFACE:c10>)
# The wheel's libraries find cuDNN and the others by their own run paths, which the linker ignores.
target_link_options(adagp_torch INTERFACE LINKER:--allow-shlib-undefined)

# The wheel's CUDA half is linked only where it can be used: it makes every start slower, and the
# slim set of packages has no cuDNN to load it with.
set(ADAGP_WITH_CUDA OFF)
if(ADAGP_FOR_GPU)
  if(NOT EXISTS ${ADAGP_TORCH_DIR}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "ADAGP_CUDA=${ADAGP_CUDA}, but ${ADAGP_TORCH_DIR}/lib has no libtorch_cuda.so")
  endif()
  set(ADAGP_WITH_CUDA ON)
  target_link_libraries(adagp_torch INTERFACE
    $<BUILD_INTERFACE:-Wl,--push-state,--no-as-needed,-ltorch_cuda,-lc10_cuda,--pop-state>)
  target_compile_definitions(adagp_torch INTERFACE ADAGP_WITH_CUDA=1)
endif()

# NCCL's code is in the wheel's CUDA half; its header is in a package beside it, as are CUDA's.
add_library(adagp_nccl INTERFACE)
if(ADAGP_WITH_CUDA)
  file(GLOB _nvidia ${ADAGP_TORCH_DIR}/../nvidia/nccl/include ${ADAGP_TORCH_DIR}/../nvidia/cu*/include)
  find_path(ADAGP_NCCL_INCLUDE nccl.h HINTS ${_nvidia} ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)
  find_path(ADAGP_CUDART_INCLUDE cuda_runtime_api.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${_nvidia} /usr/local/cuda/include)
  if(ADAGP_NCCL_INCLUDE AND ADAGP_CUDART_INCLUDE)
    target_compile_definitions(adagp_nccl INTERFACE USE_C10D_NCCL=1)
    target_include_directories(adagp_nccl SYSTEM INTERFACE ${ADAGP_NCCL_INCLUDE} ${ADAGP_CUDART_INCLUDE})
    message(STATUS "nccl: ${ADAGP_NCCL_INCLUDE}/nccl.h")
  else()
    message(STATUS "nccl: not found, built without it")
  endif()
endif()
set(CMAKE_BUILD_RPATH ${ADAGP_TORCH_DIR}/lib)
set(CMAKE_INSTALL_RPATH ${ADAGP_TORCH_DIR}/lib)
message(STATUS "LibTorch: ${ADAGP_TORCH_DIR} (${ADAGP_FOUND_TORCH}, CUDA: ${ADAGP_WITH_CUDA})")
