#include "tests/reuse/naive_selection.h"

#include <algorithm>
#include <cstdlib>

namespace kvsim::models {
namespace {

/// |I' - I| / (I - min) < variation, the normalised |a' - a| / a, with 0/0 = 0 and x/0 infinite.
bool alike(std::int64_t importance, std::int64_t next, std::int64_t least, bool flat, const WholeRules& rules) {
  const std::int64_t step = std::abs(next - importance);
  const std::int64_t above = importance - least;
  if (flat || (step == 0 && above == 0)) return rules.variation > 0;
  return above > 0 && 20 * step < rules.variation * above;
}

/// The `budget` most important of the tokens that `among` marks, the earlier ones first.
std::vector<char> most_important(const std::vector<std::int64_t>& importance, std::int64_t budget,
                                 const std::vector<char>& among) {
  std::vector<char> chosen(importance.size(), 0);
  for (std::int64_t k = 0; k < budget; ++k) {
    std::size_t best = importance.size();
    for (std::size_t i = 0; i < importance.size(); ++i) {
      if (among[i] && !chosen[i] && (best == importance.size() || importance[i] > importance[best])) best = i;
    }
    if (best < importance.size()) chosen[best] = 1;
  }
  return chosen;
}

struct Piece {
  TokenSpan tokens;
  std::int64_t sum = 0;
  bool tried = false;

  [[nodiscard]] std::int64_t size() const { return std::int64_t{tokens.end} - tokens.begin; }
};

std::vector<char> whole_pieces(std::vector<Piece> pieces, std::size_t tokens, std::int64_t budget) {
  std::vector<char> chosen(tokens, 0);
  for (std::size_t round = 0; round < pieces.size(); ++round) {
    Piece* best = nullptr;
    for (Piece& piece : pieces) {  // from left to right: of equal means the earlier one stays
      if (!piece.tried && (!best || piece.sum * best->size() > best->sum * piece.size())) best = &piece;
    }
    best->tried = true;
    if (best->size() > budget) continue;
    budget -= best->size();
    std::fill(chosen.begin() + best->tokens.begin, chosen.begin() + best->tokens.end, 1);
  }
  return chosen;
}

std::vector<std::uint32_t> listed(const std::vector<char>& chosen) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) tokens.push_back(i);
  }
  return tokens;
}

}  // namespace

std::vector<TokenSpan> naive_spans(const std::vector<std::int64_t>& importance, const WholeRules& rules) {
  std::vector<TokenSpan> spans;
  if (importance.empty()) return spans;
  const auto [least, most] = std::minmax_element(importance.begin(), importance.end());
  for (std::uint32_t i = 0; i < importance.size(); ++i) {
    const bool joined = i > 0 && spans.back().end - spans.back().begin < rules.longest &&
                        alike(importance[i - 1], importance[i], *least, *least == *most, rules);
    if (!joined) spans.push_back({i, i});
    spans.back().end = i + 1;
  }
  return spans;
}

std::vector<std::uint32_t> naive_selection(const std::vector<std::int64_t>& importance, std::int64_t first,
                                           const WholeRules& rules) {
  const std::int64_t budget = (first * rules.budget + 19) / 20;
  const std::vector<char> top = most_important(importance, first, std::vector<char>(importance.size(), 1));
  std::vector<char> completed = top;
  std::vector<Piece> pieces;
  for (const TokenSpan& span : naive_spans(importance, rules)) {
    const auto begin = top.begin() + span.begin, end = top.begin() + span.end;
    const bool whole = 20 * std::count(begin, end, 1) >= rules.majority * (end - begin);
    Piece all{span};
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      all.sum += importance[i];
      if (whole) completed[i] = 1;
      if (!whole && top[i]) pieces.push_back({{i, i + 1}, importance[i]});
    }
    if (whole) pieces.push_back(all);
  }
  if (std::count(completed.begin(), completed.end(), 1) <= budget) return listed(completed);
  return listed(rules.cap == SpanCap::tokens ? most_important(importance, budget, completed)
                                             : whole_pieces(pieces, importance.size(), budget));
}

}  // namespace kvsim::models
