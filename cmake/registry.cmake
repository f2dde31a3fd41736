# kvsim_registry(FOLDER ENTRY kvsim::part::Entry TABLE entries PREFIX entry_ HEADER path/of/entry.h)
#
# Makes a table of what the .cpp files of FOLDER, below the calling folder, define: a file name.cpp defines
#   Entry entry_name();
# in the namespace of Entry, and the generated file defines
#   std::span<const Entry> entries();
# in the order of schema::listed(). The caller adds ${FOLDER}, the files with the generated one, to the sources of its
# library. A file that comes or goes is noticed by the next build; no other file names it.
function(kvsim_registry folder)
  cmake_parse_arguments(ARG "" "ENTRY;TABLE;PREFIX;HEADER" "" ${ARGN})
  set(depends CONFIGURE_DEPENDS)
  if(CMAKE_SCRIPT_MODE_FILE)
    set(depends "")
  endif()
  file(GLOB files ${depends} ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  string(REGEX MATCH "^(.*)::([^:]*)$" matched ${ARG_ENTRY})
  set(namespace ${CMAKE_MATCH_1})
  set(entry ${CMAKE_MATCH_2})
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declared "${entry} ${ARG_PREFIX}${name}();\n")
    string(APPEND listed "${ARG_PREFIX}${name}(), ")
  endforeach()
  string(REGEX REPLACE ", $" "" listed "${listed}")
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${ARG_TABLE}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
// Generated; see cmake/registry.cmake.
#include "@ARG_HEADER@"
#include "models/schema/registry.h"

namespace @namespace@ {

@declared@
std::span<const @entry@> @ARG_TABLE@() {
  static const auto entries = schema::listed<@entry@>({@listed@});
  return entries;
}

}  // namespace @namespace@
]])
  set(${folder} ${files} ${table} PARENT_SCOPE)
endfunction()
