// Plans of policies that fetch KV as a page.
#pragma once

#include "tools/results/prefetch_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page prefetch_page(const PrefetchOutcome& outcome);

}  // namespace kvsim::results
