// Published all-reduce times against the profiles' tables.
#include <fmt/format.h>

#include <limits>

#include "models/catalogue/catalogue.h"
#include "tools/validation/groups/groups.h"

namespace kvsim::validation {
namespace {

struct AllReduce {
  const char* profile;
  int gpus;
  double us_2k, us_2m, us_256m;  ///< of messages of 2 KiB, 2 MiB, 256 MiB
};

constexpr AllReduce kPublished[] = {
    {"h100-vllm", 2, 6.3, 27.9, 880}, {"h100-vllm", 8, 15.7, 38.2, 1090}, {"a100-vllm", 8, 21.5, 53.7, 2180}};

double simulated_us(const models::KernelProfile& profile, int gpus, double bytes) {
  for (const models::AllReduceTable& table : profile.all_reduce) {
    if (table.gpus == gpus) return table.at(bytes) * 1e6;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<Figure> collective_figures(const Inputs&) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
  const models::Catalogue catalogue = models::Catalogue::built_in();
  std::vector<Figure> figures;
  for (const AllReduce& p : kPublished) {
    const models::KernelProfile profile = catalogue.profile(p.profile);
    const auto add = [&](const char* size, double bytes, double us) {
      Figure& f = figures.emplace_back();
      f.id = fmt::format("collectives/{}.x{}.{}", std::string_view(p.profile).substr(0, 4), p.gpus, size);
      f.what = fmt::format("{} x {}, {}", p.gpus, profile.measured_on, size);
      f.unit = "us";
      f.expected = us;
      f.simulated = simulated_us(profile, p.gpus, bytes);
      f.tolerance = 0.02;
      f.source = "aiconfigurator (Apache-2.0), NCCL all-reduce of half precision";
    };
    add("2KiB", 2 * kKiB, p.us_2k);
    add("2MiB", 2 * kMiB, p.us_2m);
    add("256MiB", 256 * kMiB, p.us_256m);
  }
  return figures;
}

}  // namespace kvsim::validation
