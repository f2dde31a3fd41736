#include "models/schema/spelling.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvsim::schema {
namespace {

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_' || c == ' ') c = '-';
  }
  return out;
}

/// A hub's "Qwen/Qwen3-32B" has the owner in front.
std::string_view without_owner(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

/// "llama-3.1-8b" is llama-, 3 and 1, -8b.
struct VersionedName {
  std::string family;
  std::vector<std::size_t> version;
  std::string rest;
  std::string asked;  ///< family and version as one
};

std::optional<VersionedName> versioned(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t shortest_family = 3, most_digits = 9;
  const std::string text = folded(name);
  std::size_t at = text.find_first_of(digits);
  if (at == std::string::npos || at < shortest_family) return std::nullopt;
  VersionedName parts{text.substr(0, at), {}, {}, {}};
  while (true) {
    const std::size_t end = std::min(text.find_first_not_of(digits, at), text.size());
    if (end - at > most_digits) return std::nullopt;
    parts.version.push_back(std::stoul(text.substr(at, end - at)));
    at = end;
    if (at + 1 >= text.size() || text[at] != '.' || digits.find(text[at + 1]) == std::string_view::npos) break;
    ++at;
  }
  parts.rest = text.substr(at);
  parts.asked = text.substr(0, at);
  return parts;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  if (folded(a) == folded(b)) return 1;
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width);
  std::vector<std::size_t> last(width);
  std::vector<std::size_t> row(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const bool paths = std::any_of(candidates.begin(), candidates.end(),
                                 [](const std::string& candidate) { return candidate.find('/') != std::string::npos; });
  if (!paths) word = without_owner(word);
  for (const std::string& candidate : candidates) {
    if (folded(candidate) == folded(word) && candidate != word) return {candidate};
  }
  constexpr std::size_t shortest_beginning = 3;
  std::vector<std::string> begun;
  if (word.size() >= shortest_beginning) {
    std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(begun), [&](const std::string& candidate) {
      return candidate.size() > word.size() && folded(candidate.substr(0, word.size())) == folded(word);
    });
  }
  if (!begun.empty()) return begun;
  // A name with more behind it: "qwen3-32b-fp8".
  const std::string* longest_name = nullptr;
  for (const std::string& candidate : candidates) {
    const bool behind = candidate.size() >= shortest_beginning && folded(word).starts_with(folded(candidate) + "-");
    if (behind && (!longest_name || candidate.size() > longest_name->size())) longest_name = &candidate;
  }
  if (longest_name != nullptr) return {*longest_name};
  constexpr std::size_t longest = 64;  // nobody misspells more; bounds the quadratic distance
  if (word.size() > longest) return {};
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(folded(word), folded(candidate));
    if (distance < best && distance < std::max(word.size(), candidate.size())) {
      best = distance;
      found = {candidate};
    }
  }
  return found;
}

std::optional<OtherVersion> other_version(std::string_view word, std::span<const std::string> candidates) {
  const auto asked = versioned(without_owner(word));
  if (!asked) return std::nullopt;
  const std::string* best = nullptr;
  std::optional<VersionedName> best_parts;
  for (const std::string& candidate : candidates) {
    auto parts = versioned(candidate);
    if (!parts || parts->family != asked->family) continue;
    if (parts->version == asked->version) return std::nullopt;
    const auto better = [&asked](const VersionedName& a, const VersionedName& b) {
      const bool alike = a.rest == asked->rest, before = a.version < asked->version;
      if (alike != (b.rest == asked->rest)) return alike;
      if (before != (b.version < asked->version)) return before;
      return before ? a.version > b.version : a.version < b.version;
    };
    if (best != nullptr && !better(*parts, *best_parts)) continue;
    best = &candidate;
    best_parts = std::move(parts);
  }
  if (best == nullptr) return std::nullopt;
  return OtherVersion{asked->asked, *best};
}

std::string did_you_mean(const std::vector<std::string>& near) {
  constexpr std::size_t most = 3;
  if (near.empty()) return {};
  std::string names = fmt::format("\"{}\"", near.front());
  const std::size_t named = std::min(near.size(), most);
  for (std::size_t i = 1; i < named; ++i) {
    names += fmt::format("{}\"{}\"", i + 1 == near.size() ? " or " : ", ", near[i]);
  }
  if (near.size() > most) names += fmt::format(" or {} more", near.size() - most);
  return fmt::format("did you mean {}?", names);
}

std::string suggest(std::string_view word, std::span<const std::string> candidates) {
  if (candidates.empty()) return {};
  const std::string meant = did_you_mean(nearest(word, candidates));
  if (!meant.empty()) return "; " + meant;
  if (candidates.size() == 1) return fmt::format("; expected {}", candidates.front());
  return fmt::format("; expected one of {}", fmt::join(candidates, ", "));
}

std::string meant_share(double value) {
  constexpr double percent = 100, least = 5;  // 1.2 is more likely a share that is too large
  return value >= least && value <= percent ? fmt::format("; did you mean {:g}?", value / percent) : "";
}

std::string with_article(std::string_view noun) {
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", noun);
}

}  // namespace kvsim::schema
