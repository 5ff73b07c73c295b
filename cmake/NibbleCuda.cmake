# SPDX-License-Identifier: Apache-2.0
# Looks for the CUDA toolkit, on the PATH and where it installs itself; sets NIBBLE_HAS_CUDA.

set(NIBBLE_HAS_CUDA FALSE)
if(NIBBLE_WITH_CUDA)
  find_program(NIBBLE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda
               PATH_SUFFIXES bin)
  if(NIBBLE_NVCC)
    set(NIBBLE_HAS_CUDA TRUE)
  elseif(NOT NIBBLE_WITH_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "NIBBLE_WITH_CUDA is ${NIBBLE_WITH_CUDA}, but there is no nvcc on the PATH or in /usr/local/cuda/bin")
  endif()
endif()

if(NIBBLE_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER ${NIBBLE_NVCC})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # 90 without a suffix: PTX as well
  endif()
  if(NIBBLE_CCACHE AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${NIBBLE_CCACHE})
  endif()
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit REQUIRED)
  nibble_report(CUDA TRUE "${CMAKE_CUDA_COMPILER_VERSION}" "GPU kernels")
else()
  nibble_report(CUDA FALSE "" "GPU kernels (NIBBLE_WITH_CUDA is ${NIBBLE_WITH_CUDA})")
endif()
