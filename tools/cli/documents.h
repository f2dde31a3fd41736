// Every document that kvsim prints as JSON, by kind.
#pragma once

#include "tools/results/documents.h"

namespace kvsim::cli {

const std::vector<results::DocumentKind>& document_kinds();

}  // namespace kvsim::cli
