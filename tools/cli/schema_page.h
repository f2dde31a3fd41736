// The scenario reference, docs/scenario_reference.md: every key and every name that a scenario may use.
#pragma once

#include <string>

namespace kvsim::cli {

/// Markdown, the same for every run of a version. Written from the field tables and the built-in catalogue.
std::string schema_page();

}  // namespace kvsim::cli
