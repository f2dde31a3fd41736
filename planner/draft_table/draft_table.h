// The best draft length for every batch and context, by exhaustive search over the predicted rate of a round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/serving/draft_lengths/draft_table.h"
#include "sim/serving/draft_lengths/round_rate.h"

namespace kvsim::planner {

/// One row, with what is predicted there.
struct DraftTableEntry {
  serving::DraftTableRow row;
  serving::RoundRate rate;
  double accepted = 0;    ///< A(x)
  double fixed_gain = 0;  ///< tokens/s over those of the scenario's own draft_length, less 1
  [[nodiscard]] bool link_bound() const { return rate.link_s >= rate.round_s; }
};

struct DraftTable {
  std::int64_t minimum = 1;  ///< lengths searched
  std::int64_t maximum = 1;
  std::int64_t fixed = 1;                ///< the scenario's own
  std::int64_t generated = 0;            ///< of each context, tokens that were generated; at most half of it
  std::vector<std::int64_t> batches;     ///< 1, 2, 4, ..., and the most requests of the shortest context
  std::vector<std::int64_t> contexts;    ///< powers of two, and the longest of the scenario or the model
  std::vector<DraftTableEntry> entries;  ///< ascending in batch, then context; as far as memory holds the batch
};

/// Contexts reach to the scenario's longest request, batches to what memory, max_requests and the scenario's own
/// concurrency allow, lengths from decode.draft_lengths.minimum to .maximum. Requests of a batch are taken as alike,
/// and their agreement as the scenario's mean law. Under schedule fcfs, what is drafted while a request's own reload
/// crosses the link counts as part of the round. Throws schema::InputError where the decode policy drafts nothing, or
/// pools draft.
[[nodiscard]] DraftTable draft_table(const scenario::Scenario& scenario);

/// The block "draft_lengths" of a scenario's "decode", indented to stand there.
[[nodiscard]] std::string draft_table_yaml(const DraftTable& table);

}  // namespace kvsim::planner
