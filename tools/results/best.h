// Which rows of a comparison are the best of a column: the marks of its table, and "best" in its document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/results/unit.h"

namespace kvsim::results {

/// What a column is about, which decides who competes in it.
enum class Kind : std::uint8_t {
  plain,
  latency,  ///< of requests that finished: not compared where some were refused, or most unfinished
  quality   ///< lossless is the best there is, so that there is no best among the lossless
};

/// One column of a comparison, one figure a row.
struct Column {
  std::string header;  ///< as Table has it
  std::string key;     ///< in the document; empty where nothing is better
  Better better = Better::neither;
  Kind kind = Kind::plain;
  std::vector<double> values;      ///< not finite where a row has none
  std::vector<std::string> cells;  ///< as printed
};

/// What a row must have to be compared.
struct Competitor {
  bool lossless = false;
  bool served = true;        ///< emitted tokens: without that it competes in no column
  bool all_finished = true;  ///< refused nothing, and at least half of the requests finished
};

enum class Mark : std::uint8_t { none, best, best_lossless };

/// One mark a row. Best is what prints as the best value does, so that ties within the printed digits are all marked.
/// Nothing is marked where fewer than two rows compete, or all print the same. Where the best are all lossy, the best
/// of the lossless rows are marked by the same rule among themselves.
[[nodiscard]] std::vector<Mark> marks_of(const Column& column, const std::vector<Competitor>& rows);

/// ' ', '*', '+'.
[[nodiscard]] char mark_character(Mark mark);

}  // namespace kvsim::results
