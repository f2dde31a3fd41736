#include "models/reuse/token_alignment.h"

#include <fmt/format.h>

#include <cstddef>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

bool is_empty(CharacterRange range) {
  return range.begin == range.end;
}

std::string shown(std::size_t token, CharacterRange range) {
  return fmt::format("token {} is [{}, {})", token, range.begin, range.end);
}

}  // namespace

std::string problem_with_offsets(std::span<const CharacterRange> offsets) {
  std::size_t last = offsets.size();  // the last token with characters; none yet
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const CharacterRange range = offsets[i];
    if (range.end < range.begin) {
      return shown(i, range) + ", expected an end that is not before the beginning";
    }
    if (i > 0 && range.begin < offsets[i - 1].begin) {
      return shown(i, range) + " and " + shown(i - 1, offsets[i - 1]) + ", expected tokens in the order of the text";
    }
    if (is_empty(range)) continue;
    if (last < i && range.begin < offsets[last].end && (range != offsets[last] || range.end - range.begin != 1)) {
      return shown(i, range) + " and " + shown(last, offsets[last]) +
             ", expected tokens that share no character, or are parts of the same one";
    }
    last = i;
  }
  return {};
}

void check_offsets(std::span<const CharacterRange> offsets, const char* whose) {
  if (const std::string problem = problem_with_offsets(offsets); !problem.empty()) {
    throw schema::InputError(fmt::format("{}: {}", whose, problem));
  }
}

std::vector<std::uint32_t> aligned_tokens(std::span<const std::uint32_t> selected, std::span<const CharacterRange> from,
                                          std::span<const CharacterRange> to) {
  std::vector<std::uint32_t> aligned;
  aligned.reserve(selected.size());
  std::size_t next = 0;  // tokens of `to` before it are aligned, or before all that comes
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const std::uint32_t token = selected[i];
    if (token >= from.size()) {
      throw schema::InputError(fmt::format("token {} is selected, expected one of {} tokens", token, from.size()));
    }
    if (i > 0 && token <= selected[i - 1]) {
      throw schema::InputError(
          fmt::format("token {} is selected after token {}, expected them in ascending order", token, selected[i - 1]));
    }
    const CharacterRange range = from[token];
    if (is_empty(range)) continue;
    for (; next < to.size() && to[next].begin < range.end; ++next) {
      if (to[next].end > range.begin && !is_empty(to[next])) aligned.push_back(static_cast<std::uint32_t>(next));
    }
  }
  return aligned;
}

}  // namespace kvsim::models
