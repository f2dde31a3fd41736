// Every row of the measured kv_transfer.csv: those of links that the catalogue has are run, the others say why not.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "tools/validation/csv_rows.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/link_run.h"
#include "tools/validation/measured_folder.h"

namespace kvsim::validation {
namespace {

constexpr std::int64_t kKiB = 1024;

/// Which rows a rule is for: those whose columns contain these words (empty: any). The first rule that fits decides.
struct Rule {
  const char* test;
  const char* hardware;
  const char* size;
  const char* direction;
  LinkRun run{};            ///< what is run, unless there is a reason against it
  double tolerance = 0.02;  ///< of large transfers
  const char* reason = "";  ///< why these rows are not compared
};

const std::vector<Rule>& rules() {
  using enum Direction;
  constexpr const char* kBothWays = "the two directions of a link do not slow each other down in kvsim";
  constexpr const char* kByKernel =
      "copied by a kernel instead of the copy engines, which the catalogue's links stand for";
  static const std::vector<Rule> kRules = {
      {"_bidir_ce", "Dell", "", "h2d", {"pcie5-x16", read}, 0.02, kBothWays},
      {"_bidir_ce", "Dell", "", "d2h", {"pcie5-x16", write}, 0.02, kBothWays},
      {"_ce", "Dell", "", "h2d", {"pcie5-x16", read}},
      {"_ce", "Dell", "", "d2h", {"pcie5-x16", write}},
      {"_ce", "PCIe Gen5", "", "h2d", {"pcie5-x16", read}},
      {"h2d_sm", "A100", "512MiB", "h2d", {"pcie4-x16", read, 512 * kKiB * kKiB}},
      {"h2d_sm", "A100", "10GiB", "", {}, 0, "10 GiB by a kernel falls behind 512 MiB on the same card: not explained"},
      {"_sm", "H100", "", "", {}, 0, kByKernel},
      {"_ce", "A10 ", "", "h2d", {"pcie4-x16", read}},
      {"_ce", "C2C", "", "h2d", {"c2c", read}},
      {"_ce", "C2C", "", "d2h", {"c2c", write}},
      {"cuMemcpyBatchAsync", "PCIe Gen5", "unmerged", "h2d", {"pcie5-x16", read, 8 * kKiB, 8192}, 0.10},
      {"cuMemcpyBatchAsync", "PCIe Gen5", "128KiB", "h2d", {"pcie5-x16", read, 128 * kKiB, 512}, 0.10},
      {"submission bound", "", "", "", {}, 0, "bound by a CPU that submits copies, which kvsim does not model"},
      {"LMCache", "unnamed", "", "", {}, 0, "the server's link is not named"},
      {"", "MI3xx", "", "", {}, 0, "the catalogue has no AMD GPU"},
      {"FlexKV", "", "", "", {}, 0, "cost per call of a copy, its size not given"},
      {"EFA p5", "", "", "", {}, 0, "the catalogue has no link like EFA adapters together"},
      {"RoCE", "4x200Gbps", "", "rdma", {"roce-200g", read, 40'000'000'000, 1, 4}},
      {"RoCE", "8x400Gbps", "", "rdma", {"roce-8x400g", read, 40'000'000'000}},
      {"vLLM PD", "", "", "", {}, 0, "a whole serving system's rate, not a link's"},
      {"RAID0", "", "", "ssd read", {"nvme-gen4-raid0-x4", read, 16'000'000'000}},
      {"RAID0", "", "", "ssd write", {"nvme-gen4-raid0-x4", write, 16'000'000'000}},
      {"3FS", "", "", "remote read", {"3fs-400g", read, 40'000'000'000}},
      {"fio", "single NVMe", "2MiB", "ssd read", {"nvme-gen4", read, 2048 * kKiB, 512}, 0.05},
  };
  return kRules;
}

const Rule* rule_for(const CsvRow& row) {
  const auto has = [&row](const char* column, const char* words) {
    return row.at(column).find(words) != std::string::npos;
  };
  const auto& all = rules();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Rule& r) {
    return has("test", r.test) && has("hardware", r.hardware) && has("transfer_size", r.size) &&
           has("direction", r.direction);
  });
  return found == all.end() ? nullptr : &*found;
}

/// `source`: of the row, with "same" replaced by what it refers to.
Figure figure_of(const CsvRow& row, const std::string& source) {
  Figure f;
  f.id = fmt::format("transfers/row{}", row.line);
  f.what = fmt::format("{}, {}", row.at("hardware"), row.at("transfer_size"));
  constexpr std::size_t kMost = 44;
  if (f.what.size() > kMost) f.what = f.what.substr(0, kMost - 3) + "...";
  f.unit = "GB/s";
  f.expected = row.number("GBps");
  f.simulated = std::numeric_limits<double>::quiet_NaN();
  f.source = fmt::format("{} ({}; {})", source, row.at("test"), row.at("direction"));
  const Rule* rule = rule_for(row);
  if (rule == nullptr) {
    f.skipped = "no rule says which link of the catalogue this is";
    return f;
  }
  f.tolerance = rule->tolerance;
  f.skipped = rule->reason;
  if (rule->run.link.empty()) return f;
  f.simulated = bandwidth_of(rule->run) * 1e-9;
  f.assumptions = {fmt::format("run over {} x {}", rule->run.links, rule->run.link)};
  return f;
}

Figure none(const char* reason) {
  Figure f;
  f.id = "transfers/rows";
  f.what = "rows of kv_transfer.csv";
  f.simulated = f.expected = std::numeric_limits<double>::quiet_NaN();
  f.skipped = reason;
  return f;
}

}  // namespace

std::vector<Figure> transfer_figures(const Inputs& inputs) {
  if (inputs.measured.empty()) return {none(kNoMeasuredData)};
  const std::string path = inputs.measured + "/kv_transfer.csv";
  if (!std::filesystem::exists(path)) return {none("the folder of measured data has no kv_transfer.csv")};
  std::vector<Figure> figures;
  std::string source;
  for (const CsvRow& row : read_csv(path)) {
    if (row.at("source") != "same") source = row.at("source");
    figures.push_back(figure_of(row, source));
  }
  return figures;
}

}  // namespace kvsim::validation
