// How documents are written: indented by two, but lists without objects or lists in them on one line, so that a
// hundred samples are not a hundred lines.
#pragma once

#include <string>

#include "tools/results/section.h"

namespace kvsim::results {

/// With a line end. Parses back to the same document.
std::string json_text(const Json& document);

}  // namespace kvsim::results
