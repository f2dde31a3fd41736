#include "tests/scenario/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/measurement_fields.h"

namespace kvsim::testing {
namespace {

// All that a field may be; each is known to the others.
std::string text(const std::string& path, const engine::Sample& s);
std::string text(const std::string& path, const std::map<std::string, std::uint64_t>& objects);
template <class T>
std::string text(const std::string& path, const std::map<std::string, T>& map);
template <std::size_t n>
std::string text(const std::string& path, const std::array<serving::PathMeasurement, n>& paths);

template <class T>
std::string text(const std::string& path, const T& value) {
  if constexpr (serving::Measured<T>) {
    std::string lines;
    serving::for_each_field<T>([&](const auto& field) {
      lines += text(path.empty() ? field.name : path + "." + field.name, value.*field.member);
    });
    return lines;
  } else {
    return fmt::format("{}: {}\n", path, value);
  }
}

std::string text(const std::string& path, const engine::Sample& s) {
  double weighted = 0;  // the order of the values counts too
  std::size_t position = 0;
  if (!s.sketched()) {
    for (const double v : s.values()) weighted += v * static_cast<double>(++position);
  } else {
    weighted = s.batch_means_95().half_width_95;
  }
  return fmt::format("{}: {} values, mean {}, min {}, max {}, median {}, weighted {}\n", path, s.count(), s.mean(),
                     s.min(), s.max(), s.quantile(0.5), weighted);
}

template <class T>
std::string text(const std::string& path, const std::map<std::string, T>& map) {
  std::string lines;
  for (const auto& [key, value] : map) lines += text(path + "." + key, value);
  return lines;
}

template <std::size_t n>
std::string text(const std::string& path, const std::array<serving::PathMeasurement, n>& paths) {
  std::string lines;
  for (const models::Path p : models::kAllPaths) {
    lines += text(fmt::format("{}.{}", path, models::path_name(p)), paths.at(models::index_of(p)));
  }
  return lines;
}

/// Representations by what there is of them; what they are called is reported.
std::string text(const std::string& path, const std::map<std::string, std::uint64_t>& objects) {
  std::string line = path + ":";
  for (const auto& [option, count] : objects) line += fmt::format(" {}", count);
  return line + "\n";
}

}  // namespace

std::string summary(const serving::Measurements& m) {
  return text("", m);
}

std::string summary(const planner::ExperimentResult& result) {
  std::string text = summary(result.measured);
  for (const auto& [name, interval] : result.confidence) {
    text += fmt::format("{}: {} +- {} of {}\n", name, interval.mean, interval.half_width_95, interval.observations);
  }
  text += fmt::format("{} replications, interrupted {}\n", result.replications, result.interrupted);
  for (const serving::KvCapacity& capacity : result.capacities) {
    text += fmt::format("{} KV bytes, {} blocks of {}\n", capacity.bytes, capacity.blocks, capacity.block_tokens);
  }
  return text + fmt::format("{}\n{}\n", fmt::join(result.fallbacks, "\n"), fmt::join(result.refusals, "\n"));
}

}  // namespace kvsim::testing
