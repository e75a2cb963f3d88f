# Our own kernels (src/adagp/cuda/*.cu) are compiled where nvcc is, whether or not a GPU is here.
# They use the static CUDA runtime: a program with kernels starts on machines without CUDA, too.
set(ADAGP_KERNELS "AUTO" CACHE STRING "Compile the CUDA kernels: AUTO (when nvcc is found), ON, OFF")
set(ADAGP_WITH_KERNELS OFF)
if(ADAGP_TORCH AND NOT ADAGP_KERNELS STREQUAL "OFF" AND NOT ADAGP_ASAN)
  # One host compiler for all: objects of two would bring two C++ runtimes.
  set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "" FORCE)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Tensor cores with bf16 begin with 8.0; machine code for these, and for later ones PTX.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_LINKER_PREFERENCE 0)  # programs are linked by the C++ compiler
    set(CMAKE_CUDA_LINKER_PREFERENCE_PROPAGATES 0)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(ADAGP_WITH_KERNELS ON)
  elseif(ADAGP_KERNELS STREQUAL "ON")
    message(FATAL_ERROR "ADAGP_KERNELS=ON, but no working nvcc is found: put it on the PATH or pass "
      "-DCMAKE_CUDA_COMPILER=<nvcc>")
  endif()
endif()
message(STATUS "CUDA kernels: ${ADAGP_WITH_KERNELS} ${CMAKE_CUDA_ARCHITECTURES}")
