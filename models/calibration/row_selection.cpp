// Rows of one GPU and one kernel stack.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "models/calibration/physics.h"
#include "models/schema/error.h"

namespace kvsim::models {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool is_sxm(const std::string& word) {
  return word.rfind("sxm", 0) == 0;
}

/// Whether a row is of a GPU and a framework; rows that name none are of every one if `unnamed`.
bool is_of(const SampleSource& from, const std::string& gpu, const std::string& framework, bool unnamed) {
  const bool right_gpu = from.gpu.empty() ? unnamed : names_gpu(from.gpu, gpu);
  return right_gpu && (from.framework.empty() || from.framework == framework);
}

}  // namespace

bool names_gpu(const std::string& text, const std::string& gpu) {
  // Words that tell variants of one chip apart; "SXM" is what is meant where none is said.
  static const std::set<std::string> kVariants{"nvl", "pcie", "40gb"};
  const std::vector<std::string> found = words_of(text);
  const std::vector<std::string> wanted = words_of(gpu);
  const auto has = [](const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool all = std::all_of(wanted.begin(), wanted.end(),
                               [&](const std::string& word) { return is_sxm(word) || has(found, word); });
  const bool variant = std::any_of(found.begin(), found.end(), [&](const std::string& word) {
    return kVariants.count(word) > 0 && !has(wanted, word);
  });
  return all && !variant;
}

Samples select(const Samples& all, const std::string& gpu, const std::string& framework, bool unnamed) {
  Samples s;
  const auto copy = [&](const auto& from, auto& to) {
    std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                 [&](const auto& row) { return is_of(row.from, gpu, framework, unnamed); });
  };
  std::apply([&](auto... table) { (copy(all.*table, s.*table), ...); }, kKernelTables);
  std::apply([&](auto... table) { (copy(all.device.*table, s.device.*table), ...); }, kDeviceTables);
  copy(all.device.states, s.device.states);
  return s;
}

std::vector<std::string> frameworks_of(const Samples& all, const std::string& gpu) {
  std::set<std::string> names;
  const auto note = [&](const auto& rows) {
    for (const auto& row : rows) {
      const bool of_gpu = row.from.gpu.empty() || names_gpu(row.from.gpu, gpu);
      if (of_gpu && !row.from.framework.empty()) names.insert(row.from.framework);
    }
  };
  std::apply([&](auto... table) { (note(all.*table), ...); }, kKernelTables);
  return {names.begin(), names.end()};
}

std::string framework_for(const Samples& all, const std::string& gpu, const std::string& asked) {
  const std::vector<std::string> there = frameworks_of(all, gpu);
  if (!asked.empty()) {
    const bool known = std::find(there.begin(), there.end(), asked) != there.end();
    if (known || count(select(all, gpu, asked, true)) == 0) return asked;
    throw schema::InputError(fmt::format(
        "--framework: no row of {} names {}; {}", gpu, asked,
        there.empty() ? "the rows name no framework" : fmt::format("there are rows of {}", fmt::join(there, ", "))));
  }
  if (there.size() <= 1) return there.empty() ? "vllm" : there.front();
  if (std::find(there.begin(), there.end(), "vllm") != there.end()) return "vllm";
  throw schema::InputError(fmt::format("--framework: there are rows of {}; say which to fit", fmt::join(there, ", ")));
}

namespace {

template <class Sample, class KernelOf>
std::string with_most_rows(const std::vector<Sample>& rows, const KernelOf& kernel_of) {
  std::map<std::string, std::size_t> counts;
  for (const Sample& row : rows) ++counts[kernel_of(row)];
  if (counts.empty()) return {};
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(counts.begin(), counts.end(), fewer)->first;
}

}  // namespace

std::string main_kernel(const std::vector<DecodeSample>& rows) {
  return with_most_rows(rows, [](const DecodeSample& row) { return row.block.kernel; });
}
std::string main_kernel(const std::vector<TiledSample>& rows) {
  return with_most_rows(rows, [](const TiledSample& row) { return row.block.kernel; });
}
std::vector<MoeSample> of_main_kernel(const std::vector<MoeSample>& rows) {
  const std::string kernel = with_most_rows(rows, [](const MoeSample& row) { return row.kernel; });
  std::vector<MoeSample> of_it;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_it),
               [&](const MoeSample& row) { return row.kernel == kernel; });
  return of_it;
}

}  // namespace kvsim::models
