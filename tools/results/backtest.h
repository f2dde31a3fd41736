// Predicted against measured serving points: text and Markdown from one page, JSON, CSV, plots.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/backtest/backtest.h"
#include "tools/results/fields.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// `worst`: points to name, those with the largest errors of TPOT, and of TTFT.
Page backtest_page(const planner::backtest::Backtest& backtest, std::size_t worst);
/// Without reasons: what a point's file lacks, and what was not predicted, is null.
Json backtest_json(const planner::backtest::Backtest& backtest);
KeyList backtest_keys();
/// A line a point, those out of scope too.
std::string backtest_csv(const planner::backtest::Backtest& backtest);
/// {file name, SVG}: TPOT and TTFT, predicted over measured, engines apart. None of what no point has.
std::vector<std::pair<std::string, std::string>> backtest_plots(const planner::backtest::Backtest& backtest);

}  // namespace kvsim::results
