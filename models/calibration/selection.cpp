#include "models/calibration/selection.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "models/calibration/calibrate.h"

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

template <class Sample>
void copy(const std::vector<Sample>& from, std::vector<Sample>& to, const std::string& gpu,
          const std::string& framework, bool unnamed) {
  std::copy_if(from.begin(), from.end(), std::back_inserter(to), [&](const Sample& row) {
    const bool right_gpu = row.from.gpu.empty() ? unnamed : names_gpu(row.from.gpu, gpu);
    return right_gpu && (row.from.framework.empty() || row.from.framework == framework);
  });
}

template <class Sample, class Format>
std::vector<Sample> filtered(const std::vector<Sample>& rows, Format Sample::*member, NumberFormat format) {
  std::vector<Sample> result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result),
               [&](const Sample& row) { return row.*member == format; });
  return result;
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
  copy(all.linear, s.linear, gpu, framework, unnamed);
  copy(all.decode, s.decode, gpu, framework, unnamed);
  copy(all.prefill, s.prefill, gpu, framework, unnamed);
  copy(all.mixed, s.mixed, gpu, framework, unnamed);
  copy(all.elementwise, s.elementwise, gpu, framework, unnamed);
  copy(all.sampler, s.sampler, gpu, framework, unnamed);
  copy(all.skew, s.skew, gpu, framework, unnamed);
  copy(all.all_reduce, s.all_reduce, gpu, framework, unnamed);
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
  note(all.linear);
  note(all.decode);
  note(all.prefill);
  note(all.mixed);
  return {names.begin(), names.end()};
}

std::vector<LinearSample> of_format(const std::vector<LinearSample>& rows, NumberFormat format) {
  return filtered(rows, &LinearSample::weights, format);
}
std::vector<DecodeSample> of_format(const std::vector<DecodeSample>& rows, NumberFormat format) {
  return filtered(rows, &DecodeSample::kv, format);
}
std::vector<TiledSample> of_format(const std::vector<TiledSample>& rows, NumberFormat format) {
  return filtered(rows, &TiledSample::kv, format);
}

}  // namespace kvsim::models
