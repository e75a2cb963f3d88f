# Our own kernels (src/adagp/gpu/cuda/*.cu) take minutes to compile, so they are compiled where a GPU is or
# when asked for. Presets of developers and CI ask wherever nvcc is: kernels must compile and link.
# They use the static CUDA runtime: a program with kernels starts on machines without CUDA, too.
set(ADAGP_KERNELS "AUTO" CACHE STRING
  "Compile the CUDA kernels: AUTO (nvcc is found, and a GPU is here or ADAGP_CUDA=ON), NVCC (nvcc is found), ON, OFF")
set(ADAGP_WITH_KERNELS OFF)
set(ADAGP_FOR_GPU OFF)  # a GPU is here, or asked for
if(ADAGP_CUDA STREQUAL "ON")
  set(ADAGP_FOR_GPU ON)
elseif(ADAGP_TORCH AND ADAGP_CUDA STREQUAL "AUTO")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/have_gpu.sh RESULT_VARIABLE _no_gpu)
  if(_no_gpu EQUAL 0)
    set(ADAGP_FOR_GPU ON)
  endif()
endif()
if(ADAGP_TORCH AND NOT ADAGP_ASAN AND
   (ADAGP_KERNELS MATCHES "^(ON|NVCC)$" OR (ADAGP_KERNELS STREQUAL "AUTO" AND ADAGP_FOR_GPU)))
  # One host compiler for all: objects of two would bring two C++ runtimes.
  set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "" FORCE)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Tensor cores with bf16 begin with 8.0; machine code for these, and for later ones PTX.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual CACHE STRING "")
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
