// Recordings of a backtest beside their replays.
#pragma once

#include <string>
#include <vector>

#include "planner/backtest/backtest.h"
#include "tools/results/fields.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// The points whose requests were recorded one by one, and replayed.
[[nodiscard]] std::vector<planner::backtest::BacktestPoint> recordings_of(const planner::backtest::Backtest& b);

/// The keys of such a point in documents.
[[nodiscard]] const Fields<planner::backtest::BacktestPoint>& recording_fields();

/// Latencies and load of recordings, on pages; nothing where there are none.
void add_recordings(const planner::backtest::Backtest& b, std::vector<Table>& tables);

/// A line a moment whose load was recorded: measured and predicted. Empty where there is none.
[[nodiscard]] std::string backtest_load_csv(const planner::backtest::Backtest& backtest);

}  // namespace kvsim::results
