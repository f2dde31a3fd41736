// A device that is only formulas: it writes the calibrator's tables, and a profile and links are fitted to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/calibration/calibrate.h"
#include "models/catalogue/catalogue.h"
#include "models/schema/yaml.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/rounds.h"
#include "tools/calibrate/kernels/latent_attention.h"

namespace kvsim::calibrate {

inline constexpr const char* kGpu = "NVIDIA H100 80GB HBM3";
inline constexpr const char* kVersion = "0.0.0";
inline constexpr double kBandwidth = 3350e9;
inline constexpr double kFlops = 989e12;

/// In seconds, without a launch.
struct FakeDevice {
  static double linear(double m, double n, double k) {
    const double bytes = 2 * (n * k + m * k + m * n);
    return 3e-6 + std::max(bytes / (0.88 * kBandwidth), 2 * m * n * k / (0.65 * kFlops));
  }
  static double attention(double kv_bytes) { return 9e-6 + kv_bytes / (0.85 * kBandwidth); }
  /// Wider heads reach more of the arithmetic, and narrower ones less.
  static double prefill(double heads, double tokens, double head_dim = kHeadDim) {
    return 9e-6 + 2 * heads * head_dim * tokens * tokens / (0.5 * std::sqrt(head_dim / kHeadDim) * kFlops);
  }
  /// Attention of several query tokens: the KV is read once, or arithmetic takes longer; all of it so many times
  /// slower.
  static double verify(double kv_bytes, double rows, double kv, double slower) {
    return 9e-6 + slower * std::max(kv_bytes / (0.85 * kBandwidth), 4 * rows * kHeadDim * kv / (0.45 * kFlops));
  }
  /// Absorbed attention over latents: their bytes, or arithmetic of all heads over 576 elements and 512.
  static double latent(double requests, double kv, double heads, double slower = 1) {
    const double pairs = requests * kv;
    return 9e-6 + slower * std::max(2 * kLatentKeyDim * pairs / (0.8 * kBandwidth),
                                    2 * (kLatentKeyDim + kLatentValueDim) * heads * pairs / (0.4 * kFlops));
  }
  /// A prompt expanded to keys of 192 and values of 128.
  static double expanded(double heads, double tokens) {
    return 20e-6 + (kExpandedKeyDim + kExpandedValueDim) * heads * tokens * tokens / (0.45 * kFlops);
  }
  /// Routed experts: the weights of those that are reached, or arithmetic of all pairs; that many times slower.
  static double experts(const models::MoeCall& call, double slower) {
    const double matrices = 3 * call.layer.hidden * call.layer.intermediate / call.layer.tensor_parallel;
    return 15e-6 + slower * std::max(2 * call.reached() * matrices / (0.8 * kBandwidth),
                                     2 * call.pairs() * matrices / (0.5 * kFlops));
  }
  static double copy(double bytes) { return 4e-6 + bytes / 50e9; }
};

inline constexpr double kEvents = 2e-6, kAlone = 5e-6, kInGraph = 1e-6;

/// As the calibrator times one kernel.
inline Spread kernel(double seconds) {
  const double ms = (seconds + kAlone - kInGraph) * 1e3;
  return {ms, ms, ms, 9};
}
inline Spread plain(double seconds) {
  return {seconds * 1e3, seconds * 1e3, seconds * 1e3, 9};
}

inline std::vector<std::string> with(std::vector<std::string> columns, std::vector<std::string> more = {}) {
  columns.insert(columns.end(), {"measured_ms", "p10_ms", "p90_ms", "repeats"});
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

class PlantedDevice : public ::testing::Test {
 protected:
  PlantedDevice() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~PlantedDevice() override { std::filesystem::remove_all(path_); }

  static std::string linear(std::span<const models::LlmSpec> models) {
    CsvFile file(with({"gpu", "framework", "version", "kernel", "dtype", "m_tokens", "n", "k"}));
    for (const LinearCase& c : linear_cases(models, false, false)) {
      const auto m = static_cast<double>(c.tokens);
      file.add(CsvRow(kGpu, "kvsim", kVersion, "x", "bfloat16", c.tokens, c.shape.n, c.shape.k,
                      kernel(FakeDevice::linear(m, static_cast<double>(c.shape.n), static_cast<double>(c.shape.k)))));
    }
    return file.text(true);
  }

  static std::string attention(const std::vector<AttentionCase>& cases, bool low_bits) {
    const std::vector<std::string> columns{"gpu",          "framework", "version",  "kernel", "num_heads",
                                           "num_kv_heads", "head_dim",  "kv_dtype", "batch",  "kv_len"};
    CsvFile file(low_bits ? with(columns, {"kv_bits", "group", "kv_bytes_read", "key_scales"}) : with(columns));
    for (const AttentionCase& c : cases) {
      if (c.kv_bits == 8) continue;  // fitted like bf16, and again as long
      const auto bytes = static_cast<double>(kv_bytes_read(c));
      const double factor = c.kv_bits >= 8 ? 1 : 1.3;
      CsvRow row(kGpu, "kvsim", kVersion, "x", c.shape.heads, c.shape.kv_heads, c.shape.head_dim, kv_dtype_of(c),
                 c.batch, c.kv_len, kernel(FakeDevice::attention(factor * bytes)));
      if (low_bits) {
        row.add(c.kv_bits);
        row.add(c.kv_bits >= 8 ? 0 : kGroup);
        row.add(kv_bytes_read(c));
        row.add(key_scales_of(c));
      }
      file.add(row);
    }
    return file.text(true);
  }

  static std::string prefill(std::span<const models::LlmSpec> models) {
    CsvFile file(with({"gpu", "framework", "version", "kernel", "num_heads", "num_kv_heads", "head_dim", "kv_dtype",
                       "batch", "seq_len"}));
    for (const AttentionCase& c : prefill_cases(models, false)) {
      if (c.kv_bits == 8) continue;
      file.add(CsvRow(kGpu, "kvsim", kVersion, "x", c.shape.heads, c.shape.kv_heads, c.shape.head_dim, kv_dtype_of(c),
                      c.batch, c.kv_len,
                      kernel(FakeDevice::prefill(c.batch * c.shape.heads, c.kv_len, c.shape.head_dim))));
    }
    return file.text(true);
  }

  /// Decoding that many times slower.
  static std::string latents(std::span<const models::LlmSpec> models, double slower) {
    CsvFile file(with({"gpu", "framework", "version", "kernel", "phase", "num_heads", "attention_dtype", "kv_dtype",
                       "batch", "length"}));
    for (const AttentionCase& c : latent_cases(models, false)) {
      const bool decode = shares_pool(c);
      const double seconds = decode ? FakeDevice::latent(c.batch, c.kv_len, c.shape.heads, slower)
                                    : FakeDevice::expanded(c.batch * c.shape.heads, c.kv_len);
      file.add(CsvRow(kGpu, "kvsim", kVersion, "x", decode ? "decode" : "prefill", c.shape.heads, "bfloat16",
                      "bfloat16", c.batch, c.kv_len, kernel(seconds)));
    }
    return file.text(true);
  }

  static std::string experts(std::span<const models::LlmSpec> models, double slower) {
    CsvFile file(with({"gpu", "framework", "version", "kernel", "dtype", "m_tokens", "hidden", "intermediate", "top_k",
                       "experts", "moe_tp", "moe_ep", "distribution"}));
    for (const ExpertCase& c : expert_cases(models, false)) {
      const ExpertShape& s = c.shape;
      const std::int64_t intermediate = s.intermediate * s.tensor_parallel;
      const models::ExpertLayer layer{static_cast<double>(s.hidden),          static_cast<double>(intermediate),
                                      static_cast<double>(s.top_k),           static_cast<double>(s.experts),
                                      static_cast<double>(s.tensor_parallel), static_cast<double>(s.expert_parallel)};
      const auto tokens = static_cast<double>(c.tokens);
      const models::MoeCall call{layer, tokens, models::routed_evenly(layer, tokens)};
      file.add(CsvRow(kGpu, "kvsim", kVersion, "x", "bfloat16", c.tokens, s.hidden, intermediate, s.top_k, s.experts,
                      s.tensor_parallel, s.expert_parallel, "balanced", kernel(FakeDevice::experts(call, slower))));
    }
    return file.text(true);
  }

  /// A table of host memory that gives so many bytes a second in all, a tenth of it to one thread, half to writes.
  static std::string host_memory(double bytes_per_s) {
    CsvFile file(host_columns("host_memory_operation"));
    for (const double threads : {1, 2, 4, 8, 16, 32, 64}) {
      for (const double bytes : {65536.0, 1048576.0, 16777216.0}) {
        for (const auto& [kind, rate] : {std::pair{"read", 1.0}, {"write", 0.5}, {"copy", 0.35}}) {
          const double seconds =
              std::max(5e-6 + bytes / (0.1 * rate * bytes_per_s), threads * bytes / (rate * bytes_per_s));
          file.add(CsvRow("", kVersion, kind, threads, bytes, plain(seconds), 0));
        }
      }
    }
    return file.text(true);
  }

  /// That many times slower than 20 us and 150 GB/s of the whole message, whatever the operation and the group.
  static double collective(double bytes, double slower) { return slower * (20e-6 + bytes / 150e9); }
  static std::string collectives(double slower) {
    CsvFile file({"version", "device", "op_name", "nccl_dtype", "num_gpus", "message_size", "latency", "p10_ms",
                  "p90_ms", "repeats"});
    for (const CollectiveCase& c : collective_cases(8, false)) {
      file.add(CsvRow("2.27.3", kGpu, models::word(c.operation), "bfloat16", c.gpus, c.elements,
                      plain(collective(2 * static_cast<double>(c.elements), slower))));
    }
    return file.text(true);
  }

  static std::string launch() {
    CsvFile file(with({"gpu", "version", "what", "launches"}));
    file.add(CsvRow(kGpu, kVersion, "event_pair", 0, plain(kEvents)));
    file.add(CsvRow(kGpu, kVersion, "kernel_alone", 1, plain(kAlone)));
    file.add(CsvRow(kGpu, kVersion, "kernel_in_graph", 500, plain(kInGraph)));
    return file.text(true);
  }

  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

  /// `catalogue` with the profile "fake" and its links, fitted to the folder as it is; of its tables those in `ignored`
  /// are none that a fit reads.
  models::Calibration fit_into(models::Catalogue& catalogue, const std::vector<std::string>& ignored = {}) const {
    models::Readings readings;
    for (const std::string& csv : models::csv_files(path_.string())) {
      models::read_samples(csv, nullptr, false, readings);
    }
    EXPECT_EQ(readings.ignored, ignored);
    models::CalibrationOptions options;
    options.profile = "fake";
    options.leave_out_shapes = options.leave_out_models = options.other_machines = false;
    const models::GpuSpec gpu = catalogue.gpu("h100-sxm");
    models::Calibration fitted = models::calibrate(readings, gpu, {}, {}, options);
    EXPECT_TRUE(fitted.refused.empty());
    const schema::ConfigNode document = schema::read_yaml(models::catalogue_yaml(fitted, gpu), "fitted");
    catalogue.add({&document, 1});
    return fitted;
  }

  const std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

}  // namespace kvsim::calibrate
