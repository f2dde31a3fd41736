#include "sim/engine/convex_sequence.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::engine {

void ConvexSequence::add(Line line) {
  const std::int64_t end = length_ - 1;
  const auto covers = [end](const Line& upper, const Line& lower) {
    return upper.start >= lower.start && upper.at(end) >= lower.at(end);
  };
  for (const Line& other : lines_) {
    if (covers(other, line)) return;
  }
  std::erase_if(lines_, [&](const Line& other) { return covers(line, other); });
  lines_.push_back(line);
}

void ConvexSequence::shift(std::int64_t by) {
  for (Line& line : lines_) line.start += by;
}

std::int64_t ConvexSequence::at(std::int64_t j) const {
  KVSIM_DEBUG(!lines_.empty(), "a sequence without values");
  std::int64_t largest = lines_.front().at(j);
  for (const Line& line : lines_) largest = std::max(largest, line.at(j));
  return largest;
}

std::int64_t ConvexSequence::first_faster_than(std::int64_t step) const {
  std::int64_t from = 1;
  std::int64_t to = length_;
  while (from < to) {
    const std::int64_t middle = from + (to - from) / 2;
    if (at(middle) - at(middle - 1) > step) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

std::int64_t ConvexSequence::sum_above_first() const {
  const std::int64_t base = first();
  std::int64_t sum = 0;
  for (std::int64_t j = 0; j < length_;) {
    // The steepest of the largest lines at j leads until a steeper one passes it.
    Line lead = lines_.front();
    for (const Line& line : lines_) {
      if (line.at(j) > lead.at(j) || (line.at(j) == lead.at(j) && line.step > lead.step)) lead = line;
    }
    std::int64_t until = length_;
    for (const Line& line : lines_) {
      if (line.step > lead.step) until = std::min(until, (lead.start - line.start) / (line.step - lead.step) + 1);
    }
    const std::int64_t count = until - j;
    sum += count * (lead.at(j) - base) + count * (count - 1) / 2 * lead.step;
    j = until;
  }
  return sum;
}

}  // namespace kvsim::engine
