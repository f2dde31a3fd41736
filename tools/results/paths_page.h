// What `kvsim plan --paths` answers, for people.
#pragma once

#include "tools/results/paths_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page paths_page(const PathsResult& result);

}  // namespace kvsim::results
