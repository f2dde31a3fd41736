# kvsim_embed(NAME FILES...): a library kvsim_embedded_NAME of the contents of text files. What links it includes the
# generated "NAME.h", which declares
#   namespace kvsim::embedded {
#   /// {path relative to the repository's top, contents}, in the order given.
#   std::span<const std::pair<std::string_view, std::string_view>> NAME();
#   }
# The data is regenerated when a file changes. Nothing but CMake is needed: this file runs itself as a script.

if(CMAKE_SCRIPT_MODE_FILE AND KVSIM_EMBED_OUTPUT)
  set(delimiter "KVSIM_EMBED")
  string(REPLACE "|" ";" files "${KVSIM_EMBED_FILES}")
  set(entries "")
  foreach(file IN LISTS files)
    file(READ "${KVSIM_EMBED_ROOT}/${file}" text)
    if(text MATCHES "\\)${delimiter}\"")
      message(FATAL_ERROR "${file}: cannot be embedded, it contains )${delimiter}\"")
    endif()
    if(text MATCHES "\\\\[ \t]+\n")
      message(FATAL_ERROR "${file}: cannot be embedded, a line ends in a backslash and blanks, which g++ drops")
    endif()
    string(APPEND entries "    {\"${file}\", R\"${delimiter}(${text})${delimiter}\"sv},\n")
  endforeach()
  file(WRITE "${KVSIM_EMBED_OUTPUT}" "\
// Generated from the files named below; do not edit.
#include \"${KVSIM_EMBED_NAME}.h\"

namespace kvsim::embedded {
namespace {
using namespace std::string_view_literals;  // the compiler knows their length, and need not count it
constexpr std::pair<std::string_view, std::string_view> files[] = {
${entries}};
}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> ${KVSIM_EMBED_NAME}() { return files; }

}  // namespace kvsim::embedded
")
  return()
endif()

set(KVSIM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(kvsim_embed name)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(output ${directory}/${name}.cpp)
  set(paths "")
  set(inputs "")
  foreach(file IN LISTS ARGN)
    get_filename_component(absolute ${file} ABSOLUTE)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${absolute})
    list(APPEND paths ${relative})
    list(APPEND inputs ${absolute})
  endforeach()
  list(JOIN paths "|" joined)
  file(CONFIGURE OUTPUT ${directory}/${name}.h @ONLY CONTENT [[
// Generated; see cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace kvsim::embedded {

/// {path relative to the repository's top, contents}.
std::span<const std::pair<std::string_view, std::string_view>> @name@();

}  // namespace kvsim::embedded
]])
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DKVSIM_EMBED_OUTPUT=${output} -DKVSIM_EMBED_NAME=${name}
            -DKVSIM_EMBED_ROOT=${PROJECT_SOURCE_DIR} -DKVSIM_EMBED_FILES=${joined} -P ${KVSIM_EMBED_SCRIPT}
    DEPENDS ${inputs} ${KVSIM_EMBED_SCRIPT}
    COMMENT "Embedding ${name}"
    VERBATIM)
  # Data, not code: long literals and odd line ends in them are no concern of ours.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS "-w")
  add_library(kvsim_embedded_${name} STATIC ${output})
  target_include_directories(kvsim_embedded_${name} PUBLIC ${directory})
endfunction()
