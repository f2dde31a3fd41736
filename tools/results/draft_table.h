// A table of draft lengths by batch and context, as a page and as a JSON document.
#pragma once

#include "planner/draft_table/draft_table.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct DraftTableOutcome {
  scenario::Scenario scenario;
  planner::DraftTable table;
};

Page draft_table_page(const DraftTableOutcome& outcome);

Json draft_table_document(const DraftTableOutcome& outcome);

}  // namespace kvsim::results
