# Compiler settings shared by every target, and the one function that declares a library of ours.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# What a chunk of a unity build (preset release) holds: enough that headers are read seldom, little enough that all
# processors have something to do.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 20)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED COMPONENTS iostreams)
find_package(Threads REQUIRED)

add_library(kvsim_options INTERFACE)
target_link_libraries(kvsim_options INTERFACE fmt::fmt)
target_compile_options(kvsim_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  -ffp-contract=off) # one rounding per operation: results agree between optimisation levels
# g++ 12 reports overlapping memcpy inside std::string's operator+ where there is none (GCC bug 105651, fixed in 13).
target_compile_options(kvsim_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
if(KVSIM_FUZZERS)
  target_compile_options(kvsim_options INTERFACE -fsanitize=fuzzer-no-link) # coverage in the libraries too
endif()
if(KVSIM_SANITIZE)
  target_compile_options(kvsim_options INTERFACE -fsanitize=${KVSIM_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(kvsim_options INTERFACE -fsanitize=${KVSIM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND KVSIM_SANITIZE MATCHES address)
    # At a fixed address: a program that tests start thousands of times has millions of addresses to set otherwise.
    set(module $<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>)
    target_compile_options(kvsim_options INTERFACE $<$<NOT:${module}>:-fno-pie>
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers_ignore.txt)
    target_link_options(kvsim_options INTERFACE $<$<NOT:${module}>:-no-pie>)
  endif()
endif()

# The fastest linker that is installed.
include(CheckLinkerFlag)
foreach(linker mold lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} KVSIM_HAS_${linker})
  if(KVSIM_HAS_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

# kvsim_library(NAME SOURCES ... LINKS ... [SELDOM]): a static library whose headers are included as "folder/header.h"
# relative to the repository's top. SELDOM: what runs once a command, where compiling sooner is worth more than speed.
# With KVSIM_TOGETHER the libraries of one top folder are compiled as one, and NAME only stands for it. What may include
# what is then left to the test docs.includes.
option(KVSIM_TOGETHER "Compile the libraries of models, of sim and of planner together: sooner, but a library may link anything" OFF)
function(kvsim_library name)
  cmake_parse_arguments(ARG "SELDOM" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target ${name})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder ${folder})
  if(KVSIM_TOGETHER AND NOT folder STREQUAL "tools")
    set(target kvsim_all_${folder})
    if(ARG_SELDOM)
      string(APPEND target _seldom)
    endif()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${target})
  endif()
  if(NOT TARGET ${target})
    add_library(${target} STATIC)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE kvsim_options)
    if(ARG_SELDOM)
      kvsim_seldom(${target})
    endif()
  endif()
  target_sources(${target} PRIVATE ${ARG_SOURCES})
  # A table of kvsim_registry is an object of its own, in front of which tests/docs/extension.py links a longer one.
  set(tables ${ARG_SOURCES})
  list(FILTER tables INCLUDE REGEX "^${CMAKE_CURRENT_BINARY_DIR}/")
  set_source_files_properties(${tables} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${target} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# Under sanitizers most of a compiler's time goes into optimising their checks, hence none there. g++ -Og compiles a sixth
# sooner than -O1, and sooner than -O0, which leaves more code to be written out; clang takes it for -O1.
function(kvsim_seldom target)
  set(level -Og)
  if(KVSIM_SANITIZE)
    set(level -O0)
  endif()
  target_compile_options(${target} PRIVATE $<$<AND:$<NOT:$<CONFIG:Debug>>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
endfunction()
