// kvsim-calibrate's tables of a device: what is read of them, what is refused, what a fit sees through.
#include "models/calibration/device_fits.h"
#include "models/calibration/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"
#include "models/catalogue/catalogue.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "tests/calibration/synthetic.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

constexpr double kBandwidth = 3350e9;

/// What a card with these figures would give, an outlier in twenty.
DeviceSamples truth() {
  DeviceSamples s;
  testing::Noise noise;
  for (double bytes = 65536; bytes <= 4e9; bytes *= 4) {
    for (const char* kind : {"read", "write", "copy"}) {
      const double cold_s = 2e-6 + bytes / (0.9 * kBandwidth);
      const double warm_s = 2e-6 + bytes / ((bytes < 40e6 ? 2.0 : 0.9) * kBandwidth);
      s.memory.push_back({{}, kind, true, bytes, cold_s * noise.next()});
      s.memory.push_back({{}, kind, false, bytes, warm_s * noise.next()});
    }
  }
  for (double bytes = 4096; bytes <= 1e9; bytes *= 2) {
    s.copies.push_back({{}, true, false, bytes, (6e-6 + bytes / 55e9) * noise.next()});
    s.copies.push_back({{}, false, false, bytes, (6e-6 + bytes / 57e9) * noise.next()});
    s.copies.push_back({{}, true, true, bytes, (6e-6 + bytes / 51e9) * noise.next()});
    s.copies.push_back({{}, false, true, bytes, (6e-6 + bytes / 48e9) * noise.next()});
  }
  for (double bytes = 128; bytes <= 1 << 20; bytes *= 2) {
    s.gathers.push_back({{}, "single_copies", 4096, bytes, 4096 * std::max(2e-6, bytes / 54e9) * noise.next()});
    s.gathers.push_back({{}, "mapped_reads", 4096, bytes, 4096 * std::max(11e-9, bytes / 40e9) * noise.next()});
  }
  for (const double rows : {1.0, 16.0, 256.0, 512.0}) {
    for (double columns = 4096; columns <= 131072; columns *= 2) {
      const double s_each = 8e-6 + columns * 0.4e-9 * std::max(1.0, rows / (3 * 132));
      s.top_k.push_back({{}, rows, columns, 256, s_each * noise.next()});
    }
  }
  for (const double bits : {4.0, 2.0, 1.0}) {
    for (double vectors = 256; vectors <= 4e6; vectors *= 4) {
      const double full = vectors * 256;
      const double packed = vectors * (16 * bits + 8);
      s.quantise.push_back(
          {{}, false, bits, full, packed, (3e-6 + (full + packed) / (0.5 * kBandwidth)) * noise.next()});
      s.quantise.push_back(
          {{}, true, bits, full, packed, (3e-6 + (full + packed) / (0.7 * kBandwidth)) * noise.next()});
    }
  }
  for (const double threads : {1.0, 4.0, 16.0}) {
    for (double bytes = 4096; bytes <= 1 << 24; bytes *= 4) {
      s.storage.push_back(
          {{}, false, threads, bytes, std::max(90e-6 + bytes / 2.5e9, threads * bytes / 6.5e9) * noise.next()});
      s.storage.push_back(
          {{}, true, threads, bytes, std::max(20e-6 + bytes / 2e9, threads * bytes / 4e9) * noise.next()});
    }
  }
  s.launch = {{{}, "event_pair", 2e-6}, {{}, "host_per_launch", 2.4e-6}, {{}, "host_per_graph", 12e-6}};
  for (const char* kind : {"read", "write", "copy"}) {
    s.interference.push_back({{}, true, true, kind, 2e9, 1e-3, 1.05e-3});
    s.interference.push_back({{}, true, false, kind, 2e9, 1e-3, 1.03e-3});
    s.interference.push_back({{}, false, true, kind, 2e8, 5e-3, 5.1e-3});
    s.interference.push_back({{}, false, false, kind, 2e8, 5e-3, 4.99e-3});
  }
  return s;
}

class DeviceFit : public ::testing::Test {
 protected:
  static Calibration fitted(const DeviceSamples& device) {
    Readings readings;
    readings.samples.device = device;
    CalibrationOptions options;
    options.profile = "mine";
    return calibrate(readings, Catalogue::built_in().gpu("h100-sxm"), {}, {}, options);
  }
};

TEST_F(DeviceFit, EveryTableIsSeenThroughNoiseAndOutliers) {
  const Calibration c = fitted(truth());
  const FittedForms& f = c.profile.fitted;
  ASSERT_TRUE(f.elementwise && f.top_k && f.quantise && f.dequantise && c.host_link);
  EXPECT_NEAR(f.elementwise->t0_s, 2e-6, 0.1e-6);
  EXPECT_NEAR(f.elementwise->stream.bandwidth_efficiency, 0.9, 0.02);
  EXPECT_NEAR(f.elementwise->stream.l2_efficiency, 2, 0.2);
  EXPECT_NEAR(f.top_k->t0_s, 8e-6, 0.3e-6);
  EXPECT_NEAR(f.top_k->per_score_s, 0.4e-9, 0.01e-9);
  EXPECT_NEAR(f.top_k->rows_at_once, 3, 0.1);
  EXPECT_NEAR(f.quantise->stream.bandwidth_efficiency, 0.5, 0.01);
  EXPECT_NEAR(f.dequantise->stream.bandwidth_efficiency, 0.7, 0.02);
  const LinkSpec& link = *c.host_link;
  EXPECT_NEAR(link.read_bytes_per_s.value, 55e9, 0.5e9);
  EXPECT_NEAR(link.write_bytes_per_s.value, 57e9, 0.5e9);
  EXPECT_NEAR(link.both_ways_bytes_per_s.value, 99e9, 2e9);
  ASSERT_EQ(link.gathers.size(), 2U);
  EXPECT_NEAR(link.gathers[0].per_row_s.value, 2e-6, 0.05e-6);
  EXPECT_NEAR(link.gathers[1].bytes_per_s.value, 40e9, 1e9);
  // 6 us, of which 2 are the events'; what a further copy takes in a row of them is its setup.
  EXPECT_NEAR(link.setup_s.value + link.latency_s.value, 4e-6, 0.1e-6);
  EXPECT_NEAR(link.setup_s.value, 2e-6, 0.05e-6);
}

TEST_F(DeviceFit, ADriveIsALinkOfItsOwn) {
  const Calibration c = fitted(truth());
  ASSERT_TRUE(c.storage);
  EXPECT_NEAR(c.storage->read_bytes_per_s.value, 6.5e9, 0.1e9);
  EXPECT_NEAR(c.storage->write_bytes_per_s.value, 4e9, 0.1e9);
  EXPECT_NEAR(c.storage->latency_s.value, 90e-6, 3e-6);
  Catalogue catalogue = Catalogue::built_in();
  const schema::ConfigNode document =
      schema::read_yaml(catalogue_yaml(c, Catalogue::built_in().gpu("h100-sxm")), "written.yaml");
  catalogue.add({&document, 1});
  const LinkSpec link = catalogue.link("mine-storage");
  EXPECT_EQ(link.kind, LinkKind::storage);
  EXPECT_NEAR(link.read_bytes_per_s.value / c.storage->read_bytes_per_s.value, 1, 1e-3);
  EXPECT_EQ(link.latency_s.source.kind, schema::SourceKind::measurement);
}

TEST_F(DeviceFit, LaunchesAndInterferenceAreTakenAsTheyStand) {
  const Calibration c = fitted(truth());
  EXPECT_DOUBLE_EQ(c.profile.launch.graph_s.value, 12e-6);
  EXPECT_DOUBLE_EQ(c.profile.launch.kernel_s.value, 2.4e-6);
  EXPECT_NEAR(c.profile.interference.kernels_to_gpu.value, 0.05, 1e-9);
  EXPECT_NEAR(c.profile.interference.kernels_from_gpu.value, 0.03, 1e-9);
  EXPECT_NEAR(c.profile.interference.copies_to_gpu.value, 0.02, 1e-9);
  EXPECT_EQ(c.profile.interference.copies_from_gpu.value, 0) << "nothing is sped up";
}

TEST_F(DeviceFit, WhatIsWrittenLoadsTheSame) {
  const GpuSpec gpu = Catalogue::built_in().gpu("h100-sxm");
  const Calibration c = fitted(truth());
  Catalogue catalogue = Catalogue::built_in();
  const schema::ConfigNode document = schema::read_yaml(catalogue_yaml(c, gpu), "written.yaml");
  catalogue.add({&document, 1});
  const KernelProfile p = catalogue.profile("mine");
  ASSERT_TRUE(p.fitted.top_k && p.fitted.quantise && p.fitted.dequantise && p.fitted.elementwise);
  EXPECT_NEAR(p.fitted.top_k->seconds(600, 8192, Machine::of(gpu)) /
                  c.profile.fitted.top_k->seconds(600, 8192, Machine::of(gpu)),
              1, 1e-3);
  EXPECT_DOUBLE_EQ(p.launch.kernel_s.value, c.profile.launch.kernel_s.value);
  EXPECT_DOUBLE_EQ(p.interference.kernels_to_gpu.value, c.profile.interference.kernels_to_gpu.value);
  const LinkSpec link = catalogue.link("mine-host");
  EXPECT_EQ(link.kind, LinkKind::host);
  EXPECT_NEAR(link.read_bytes_per_s.value / c.host_link->read_bytes_per_s.value, 1, 1e-3);
  EXPECT_NEAR(link.both_ways_bytes_per_s.value / c.host_link->both_ways_bytes_per_s.value, 1, 1e-3);
  EXPECT_EQ(link.gathers.size(), 2U);
}

TEST_F(DeviceFit, ARunThatThrottledIsMarkedInTheWarningsAndTheProfile) {
  DeviceSamples device = truth();
  const auto says = [](const Calibration& c, const char* words) {
    return std::any_of(c.warnings.begin(), c.warnings.end(),
                       [words](const std::string& w) { return w.find(words) != std::string::npos; });
  };
  device.states = {{{}, "memory", 1965, 1980, 0, "nothing", 0}};
  EXPECT_FALSE(says(fitted(device), "throttled"));
  device.states.push_back({{}, "topk", 1410, 1980, 0.4, "power cap", 2});
  const Calibration c = fitted(device);
  EXPECT_TRUE(says(c, "topk: the GPU throttled (power cap) for 40 % of the time, SM clock 1410 MHz of 1980"));
  EXPECT_TRUE(says(c, "topk: 2 other processes computed on the GPU"));
  EXPECT_NE(c.profile.fitted.top_k->source.reference.find("the GPU throttled in topk"), std::string::npos);
}

TEST_F(DeviceFit, TooFewRowsLeaveAFormOutAndSaySo) {
  DeviceSamples few = truth();
  few.top_k.resize(4);
  const Calibration c = fitted(few);
  EXPECT_FALSE(c.profile.fitted.top_k);
  EXPECT_TRUE(std::any_of(c.warnings.begin(), c.warnings.end(),
                          [](const std::string& w) { return w.find("top k fp32: 4 rows are too few") == 0; }));
}

TEST(Launches, WhatAKernelAloneTakesMoreThanInAGraphIsTakenOutOfOurTimesAlone) {
  Samples s;
  s.device.launch = {{{}, "event_pair", 2e-6}, {{}, "kernel_alone", 5e-6}, {{}, "kernel_in_graph", 1e-6}};
  LinearSample ours;
  ours.from.framework = "kvsim";
  ours.seconds = 10e-6;
  LinearSample theirs = ours;
  theirs.from.framework = "vllm";
  LinearSample empty = ours;
  empty.seconds = 4e-6;
  s.linear = {ours, theirs, empty};
  s.device.top_k = {{{}, 1, 4096, 64, 12e-6}};
  s.device.copies = {{{}, true, false, 4096, 7e-6}};
  subtract_launches(s);
  EXPECT_DOUBLE_EQ(s.linear[0].seconds, 6e-6);
  EXPECT_DOUBLE_EQ(s.linear[1].seconds, 10e-6);
  EXPECT_DOUBLE_EQ(s.linear[2].seconds, 1e-6) << "no kernel is shorter than an empty one";
  EXPECT_DOUBLE_EQ(s.device.top_k[0].seconds, 8e-6);
  EXPECT_DOUBLE_EQ(s.device.copies[0].seconds, 5e-6);
}

class Variants : public ::testing::Test {
 protected:
  static constexpr double kBytesPerS = 3e12;
  static LowBitAttention low_bit_truth() { return {{2e10, {}}, 2}; }
  static VerifyForm verify_truth() {
    VerifyForm form;
    form.reading = 1.25;
    form.further_blocks = 0.3;
    form.efficiency = 0.45;
    form.per_row_s = 0.5e-9;
    return form;
  }
  /// The truth for several query tokens.
  static double verify_s(const DecodeSample& row, double queries, const VerifyForm& form) {
    DecodeCall call = call_of(row);
    call.queries = queries;
    call.mean_kv = row.kv_length - (queries - 1) / 2;
    const auto one_s = [&row](double kv_length) {
      DecodeSample one = row;
      one.kv_length = kv_length;
      return testing::decode_truth().time(call_of(one), testing::machine(), false).seconds;
    };
    return form.time(call, one_s(row.kv_length), one_s(1), testing::machine()).seconds;
  }
  static std::vector<AttentionVariant> verify_grid(const VerifyForm& form) {
    std::vector<AttentionVariant> all;
    testing::Noise noise;
    for (const HeadShape& shape : {HeadShape{32, 8, 128}, HeadShape{8, 1, 128}, HeadShape{16, 16, 128}}) {
      for (const double requests : {1.0, 4.0, 16.0}) {
        for (const double kv : {2048.0, 8192.0, 32768.0}) {
          for (const double queries : {2.0, 4.0, 8.0, 16.0, 32.0, 64.0}) {
            AttentionVariant row;
            row.decode = {{}, NumberFormat::bf16, shape, requests, kv, false, 0};
            row.longest_kv = kv;
            row.bytes_read = row.decode.kv_bytes();
            row.query_tokens = queries;
            row.seconds = verify_s(row.decode, queries, form) * noise.next();
            all.push_back(row);
          }
        }
      }
    }
    return all;
  }
  /// The fit to `rows`, in seconds of a row that it may not have seen.
  static VerifyForm fitted_to(const std::vector<AttentionVariant>& rows) {
    const VerifyKind kind = best_block(rows, {}, testing::decode_truth(), testing::machine(), {});
    const FitProblem problem = verify_problem(rows, kind, testing::decode_truth(), testing::machine());
    return verify_form(kind, fit(problem, all_rows(problem)).values);
  }
  static LowBitAttention low_bit_of(const std::vector<AttentionVariant>& rows) {
    const FitProblem problem =
        low_bit_problem(low_bit_rows(rows), testing::decode_truth(), testing::machine(), kBytesPerS);
    return low_bit_attention(fit(problem, all_rows(problem)).values);
  }
  static double factor_of(const LowBitAttention& found, double element_bytes) {
    return found.elements_per_s.value > 0
               ? found.time_factor(element_bytes, kBytesPerS, testing::machine().multiprocessors)
               : 1;
  }
  /// The truth with this KV length, and bytes of KV so many times.
  static double seconds(DecodeSample row, double kv_length, double bytes) {
    const double mean = row.kv_length;
    row.kv_length = kv_length;
    DecodeCall call = call_of(row);
    call.mean_kv = std::max(mean, kv_length);
    call.kv_bytes = bytes;
    return testing::decode_truth().time(call, testing::machine(), false).seconds;
  }
  static std::vector<AttentionVariant> rows() {
    std::vector<AttentionVariant> all;
    for (const double requests : {4.0, 16.0, 64.0}) {
      for (const double kv : {8192.0, 32768.0, 65536.0}) {
        AttentionVariant row;
        row.decode = {{}, NumberFormat::bf16, {32, 8, 128}, requests, kv, false, 0};
        row.longest_kv = kv;
        row.bytes_read = row.decode.kv_bytes();
        const double equal_s = seconds(row.decode, kv, row.bytes_read);
        row.seconds = equal_s;
        all.push_back(row);
        AttentionVariant spread = row;
        spread.longest_kv = 2 * kv;
        const double longest_s = seconds(row.decode, 2 * kv, 2 * row.bytes_read);
        spread.seconds = equal_s + 0.25 * (longest_s - equal_s);
        all.push_back(spread);
        for (const double bits : {1.0, 2.0, 4.0}) {
          AttentionVariant few = row;
          few.kv_bits = bits;
          const double share = bits / 16 + 1.0 / 32;
          few.bytes_read = row.bytes_read * share;
          const double factor = low_bit_truth().time_factor(2 * share, kBytesPerS, testing::machine().multiprocessors);
          few.seconds = seconds(row.decode, kv, factor * few.bytes_read);
          all.push_back(few);
        }
        for (const double queries : {2.0, 8.0, 64.0}) {
          AttentionVariant verify = row;
          verify.query_tokens = queries;
          const double reading_s = equal_s - seconds(row.decode, 1, row.bytes_read / kv);
          verify.seconds = equal_s + reading_s * 0.1 * (queries - 1) * (queries > 8 ? 9 : 1);  // arithmetic
          all.push_back(verify);
        }
      }
    }
    return all;
  }
};

TEST_F(Variants, ShareOfUnevenLengthsIsFound) {
  EXPECT_NEAR(uneven_share(skews_of(rows(), testing::decode_truth(), testing::machine())), 0.25, 1e-6);
}

TEST_F(Variants, FewQueryTokensSayWhatEachFurtherOneReadsAgain) {
  const auto share = further_query_share(rows(), testing::decode_truth(), testing::machine());
  ASSERT_TRUE(share);
  EXPECT_NEAR(*share, 0.1, 0.03);
  EXPECT_FALSE(further_query_share({}, testing::decode_truth(), testing::machine()));
}

TEST_F(Variants, VerificationOf9To64QueryTokensHasAFormThatHoldsForRowsItHasNotSeen) {
  for (const double slower : {1.0, 5.0}) {
    VerifyForm truth = verify_truth();
    truth.reading *= slower;
    truth.efficiency /= slower;
    std::vector<AttentionVariant> rows = verify_grid(truth), kept;
    const auto held_out = [](const AttentionVariant& row) {
      return row.query_tokens == 16 || row.decode.requests == 4;
    };
    std::remove_copy_if(rows.begin(), rows.end(), std::back_inserter(kept), held_out);
    ASSERT_LT(kept.size(), rows.size() / 2 + 10);
    const VerifyForm found = fitted_to(kept);
    EXPECT_EQ(found.block_rows, truth.block_rows);
    for (const AttentionVariant& row : rows) {
      if (!held_out(row)) continue;
      const double s = verify_s(row.decode, row.query_tokens, found);
      EXPECT_NEAR(s / verify_s(row.decode, row.query_tokens, truth), 1, 0.03)
          << row.query_tokens << " queries, " << row.decode.requests << " x " << row.decode.kv_length;
    }
  }
}

TEST_F(Variants, FewBitsSayHowFastTheyAreDequantisedAndHowThatOverlapsWithReading) {
  const LowBitAttention found = low_bit_of(rows());
  for (const double bits : {1.0, 2.0, 4.0}) {
    const double bytes = 2 * (bits / 16 + 1.0 / 32);
    EXPECT_NEAR(factor_of(found, bytes) / factor_of(low_bit_truth(), bytes), 1, 0.01) << bits;
  }
  EXPECT_NEAR(found.elements_per_s.value, low_bit_truth().elements_per_s.value, 0.02 * 2e10);
}

TEST_F(Variants, DequantisingThatBindsAtOneBitAloneIsFound) {
  // Elements take longer than the bytes of one bit, and less than those of two: the longer of the two counts.
  const double one = 2 * (1.0 / 16 + 1.0 / 32), two = 2 * (2.0 / 16 + 1.0 / 32);
  const double element_s = (one + 0.8 * (two - one)) / kBytesPerS;
  const auto factor = [&](double bytes) { return std::max(1.0, element_s * kBytesPerS / bytes); };
  ASSERT_GT(factor(one), 1.4);
  ASSERT_EQ(factor(two), 1);
  std::vector<AttentionVariant> all = rows();
  for (AttentionVariant& row : all) {
    if (row.kv_bits == 16) continue;
    row.seconds = seconds(row.decode, row.decode.kv_length, factor(2 * (row.kv_bits / 16 + 1.0 / 32)) * row.bytes_read);
  }
  const LowBitAttention found = low_bit_of(all);
  for (const double bits : {1.0, 2.0, 4.0}) {
    const double bytes = 2 * (bits / 16 + 1.0 / 32);
    EXPECT_NEAR(factor_of(found, bytes) / factor(bytes), 1, 0.05) << bits << " bits";
  }
}

TEST_F(Variants, KeysByChannelDecideWhereTheyWereMeasured) {
  Readings readings;
  readings.samples.variants = rows();
  for (const DecodeSample& row : testing::decode_rows(testing::decode_truth(), false)) {
    readings.samples.decode.push_back(row);
  }
  CalibrationOptions options;
  options.leave_out_shapes = options.leave_out_models = options.other_machines = false;
  for (AttentionVariant row : rows()) {  // dequantised at half the rate
    if (row.kv_bits == 16) continue;
    row.keys_by_channel = true;
    const double bytes = 2 * (row.kv_bits / 16 + 1.0 / 32);
    LowBitAttention slower = low_bit_truth();
    slower.elements_per_s.value /= 2;
    row.seconds = seconds(row.decode, row.decode.kv_length, factor_of(slower, bytes) * row.bytes_read);
    readings.samples.variants.push_back(row);
  }
  const Calibration c = calibrate(readings, Catalogue::built_in().gpu("h100-sxm"), {}, {}, options);
  const Sourced<double>& rate = c.profile.low_bit.elements_per_s;
  EXPECT_NEAR(rate.value, low_bit_truth().elements_per_s.value / 2, 0.05 * low_bit_truth().elements_per_s.value);
  EXPECT_NE(rate.source.reference.find("scales of keys by channel"), std::string::npos);
  const auto reported = [&c](const char* name) {
    return std::any_of(c.operators.begin(), c.operators.end(), [name](const auto& o) { return o.name == name; });
  };
  EXPECT_TRUE(reported("low-bit attention") && reported("low-bit attention, keys by channel"));
}

TEST_F(Variants, FewBitsThatTakeAsLongAsTheirBytesHaveNoRate) {
  std::vector<AttentionVariant> hidden = rows();
  for (AttentionVariant& row : hidden) {
    if (row.kv_bits < 16) row.seconds = seconds(row.decode, row.decode.kv_length, row.bytes_read);
  }
  EXPECT_LT(most_time_factor(low_bit_rows(hidden), low_bit_of(hidden), kBytesPerS, testing::machine()), 1.005);
}

class Tables : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("kvsim-tables-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  /// Reads a table of these rows, takes out the impossible, and gives the lines that were refused.
  std::vector<int> refused(const std::string& header, const std::vector<std::string>& rows) {
    const std::string path = (folder_ / "t.csv").string();
    std::ofstream out(path);
    out << header << ",p10_ms\n";
    for (const std::string& row : rows) out << row << ",0\n";
    out.close();
    readings_ = {};
    read_samples(path, nullptr, true, readings_);
    std::vector<RefusedRow> all = readings_.refused;
    for (RefusedRow& row : refuse_impossible(readings_.samples, testing::machine())) all.push_back(std::move(row));
    std::vector<int> lines;
    reasons_.clear();
    for (const RefusedRow& row : all) {
      lines.push_back(static_cast<int>(row.origin.line()));
      reasons_ += row.reason + "\n";
      EXPECT_EQ(row.origin.source(), path);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  [[nodiscard]] bool says(const char* reason) const { return reasons_.find(reason) != std::string::npos; }

  fs::path folder_;
  Readings readings_;
  std::string reasons_;
};

TEST_F(Tables, OfMemory) {
  EXPECT_EQ(refused("gpu,version,kind,caches,bytes,measured_ms",
                    {"h100,1,read,cold,1073741824,0.36", "h100,1,read,cold,1073741824,0.1", "h100,1,scan,cold,1024,1",
                     "h100,1,read,hot,1024,1", "h100,1,read,cold,1.5,1", "h100,1,read,cold,2048,nan",
                     "h100,1,copy,cold,1048576,0.004"}),
            (std::vector<int>{3, 4, 5, 6, 7}));
  EXPECT_TRUE(says("implies 10737 GB/s, the peak is 3350 GB/s")) << reasons_;
  EXPECT_TRUE(says("kind is \"scan\", expected read, write or copy"));
  ASSERT_EQ(readings_.samples.device.memory.size(), 2U);
  EXPECT_EQ(readings_.samples.device.memory[1].bytes, 2 * 1048576) << "read and written";
}

TEST_F(Tables, OfCopies) {
  EXPECT_EQ(refused("gpu,version,direction,host_memory,bytes,measured_ms",
                    {"h100,1,h2d,pinned,1048576,0.02", "h100,1,d2h_with_h2d,pinned,1048576,0.03",
                     "h100,1,h2d,pageable,1048576,0.2", "h100,1,sideways,pinned,1048576,0.02",
                     "h100,1,h2d,stone,1048576,0.02", "h100,1,h2d,pinned,1073741824,0.02", "h100,1,h2d,pinned,64,-1"}),
            (std::vector<int>{5, 6, 7, 8}));
  ASSERT_EQ(readings_.samples.device.copies.size(), 2U);
  EXPECT_FALSE(readings_.samples.device.copies[1].to_gpu);
  EXPECT_TRUE(readings_.samples.device.copies[1].both_ways);
}

TEST_F(Tables, OfGathersTopKAndQuantising) {
  EXPECT_EQ(refused("gpu,version,method,row_bytes,rows,measured_ms",
                    {"h100,1,copy_each,128,4096,9", "h100,1,by_hand,128,4096,9", "h100,1,copy_batch,128,0,9"}),
            (std::vector<int>{3, 4}));
  EXPECT_EQ(refused("gpu,version,rows,columns,k,measured_ms",
                    {"h100,1,8,4096,64,0.02", "h100,1,8,64,4096,0.02", "h100,1,512,131072,64,0.01"}),
            (std::vector<int>{3, 4}));
  EXPECT_TRUE(says("the 4096 largest of 64"));
  EXPECT_EQ(refused("gpu,version,operation,bits,bytes_full,bytes_packed,measured_ms",
                    {"h100,1,quantise,4,1048576,294912,0.01", "h100,1,pack,4,1048576,294912,0.01",
                     "h100,1,dequantise,4,1048576,2097152,0.01", "h100,1,quantise,4,1073741824,301989888,0.01"}),
            (std::vector<int>{3, 4, 5}));
}

TEST_F(Tables, OfLaunchesAndInterference) {
  EXPECT_EQ(refused("gpu,version,what,launches,measured_ms",
                    {"h100,1,event_pair,0,0.002", "h100,1,a_wish,0,0.002", "h100,1,kernel_alone,1,200"}),
            (std::vector<int>{3, 4}));
  EXPECT_EQ(refused("gpu,version,timed,against,bytes,alone_ms,measured_ms",
                    {"h100,1,kernel_read,h2d,1073741824,0.4,0.42", "h100,1,h2d,kernel_read,1048576,0.02,0.021",
                     "h100,1,h2d,d2h,1048576,0.02,0.021", "h100,1,kernel_copy,h2d,1073741824,0.8,0.4",
                     "h100,1,kernel_write,h2d,1073741824,0.8,80", "h100,1,kernel_write,d2h,1073741824,nan,1"}),
            (std::vector<int>{4, 5, 6, 7}));
  EXPECT_TRUE(says("0.5 of the time alone: nothing is sped up by sharing")) << reasons_;
}

TEST_F(Tables, OfStorage) {
  EXPECT_EQ(
      refused("gpu,version,storage_operation,threads,bytes,measured_ms",
              {",1,read,1,4096,0.09", ",1,append,1,4096,0.09", ",1,write,0,4096,0.09", ",1,read,16,16777216,0.01"}),
      (std::vector<int>{3, 4, 5}));
}

TEST_F(Tables, OfHostMemory) {
  EXPECT_EQ(refused("gpu,version,host_memory_operation,threads,bytes,measured_ms",
                    {",1,copy,8,65536,0.09", ",1,move,1,65536,0.09", ",1,write,0.5,65536,0.09"}),
            (std::vector<int>{3, 4}));
}

TEST_F(Tables, OfCollectivesInBf16AsInHalf) {
  const char* const columns = "version,device,op_name,nccl_dtype,num_gpus,message_size,latency";
  EXPECT_TRUE(refused(columns, {"2.27.3,h100,all_to_all,bfloat16,4,4096,0.02"}).empty());
  ASSERT_EQ(readings_.samples.collectives.size(), 1U);
  EXPECT_EQ(readings_.samples.collectives[0].operation, Collective::all_to_all);
  EXPECT_EQ(readings_.samples.collectives[0].bytes, 8192);
}

TEST_F(Tables, OfExpertsAreColdWhereL2IsFlushed) {
  const char* const columns =
      "gpu,framework,version,kernel,dtype,m_tokens,hidden,intermediate,top_k,experts,moe_tp,moe_ep,distribution,"
      "measured_ms";
  for (const bool ours : {true, false}) {
    const std::string row =
        std::string("h100,") + (ours ? "kvsim" : "vllm") + ",1,x,bfloat16,8,2048,768,8,128,1,1,balanced,1";
    EXPECT_TRUE(refused(columns, {row}).empty());
    ASSERT_EQ(readings_.samples.moe.size(), 1U);
    EXPECT_EQ(readings_.samples.moe[0].warm, !ours);
  }
}

TEST_F(Tables, OfTheStateOfTheGpu) {
  EXPECT_EQ(refused("gpu,version,benchmark,sm_clock_mhz,most_sm_clock_mhz,throttled_share,throttled_by,other_processes",
                    {"h100,1,linear,1410,1980,0.25,power cap+heat,1", "h100,1,topk,1410,1980,1.5,heat,0"}),
            (std::vector<int>{3}));
  ASSERT_EQ(readings_.samples.device.states.size(), 1U);
  EXPECT_EQ(readings_.samples.device.states.front().throttled_by, "power cap+heat");
  EXPECT_EQ(count(readings_.samples), 0U) << "no row of times";
}

TEST_F(Tables, OfAttentionOfOtherKinds) {
  const std::string columns =
      "gpu,framework,version,kernel,num_heads,num_kv_heads,head_dim,kv_dtype,batch,kv_len,measured_ms,";
  const std::string start = "h100,kvsim,1,x,32,8,128,";
  EXPECT_EQ(refused(columns + "query_tokens",
                    {start + "bfloat16,4,4096,0.1,8", start + "int4,4,4096,0.1,8", start + "bfloat16,4,8,0.1,64",
                     "h100,kvsim,1,x,30,8,128,bfloat16,4,4096,0.1,8"}),
            (std::vector<int>{3, 4, 5}));
  EXPECT_TRUE(refused(columns + "query_tokens", {start + "fp8_e4m3,4,4096,0.1,8"}).empty());
  ASSERT_EQ(readings_.samples.variants.size(), 1U);
  EXPECT_EQ(readings_.samples.variants[0].decode.kv, NumberFormat::fp8);
  EXPECT_EQ(readings_.samples.variants[0].bytes_read, 4.0 * 4096 * 2 * 8 * 128);
  EXPECT_EQ(refused(columns + "lengths,longest_kv_len",
                    {start + "bfloat16,4,4096,0.1,spread,8190", start + "bfloat16,4,4096,0.1,spread,100"}),
            (std::vector<int>{3}));
  EXPECT_EQ(refused(columns + "kv_bits,group,kv_bytes_read",
                    {start + "int4,4,4096,0.1,4,64,18874368", start + "int4,4,4096,0.1,3,64,18874368",
                     start + "int4,64,65536,0.1,4,64,4831838208"}),
            (std::vector<int>{3, 4}));
  ASSERT_EQ(readings_.samples.variants.size(), 1U);
  EXPECT_EQ(readings_.samples.variants[0].kv_bits, 4);
  EXPECT_EQ(refused(columns + "kv_bits,kv_bytes_read,key_scales",
                    {start + "int4,4,4096,0.1,4,18874368,token", start + "int4,4,4096,0.2,4,18874368,channel",
                     start + "int4,4,4096,0.1,4,18874368,row"}),
            (std::vector<int>{4}));
  ASSERT_EQ(readings_.samples.variants.size(), 2U);
  EXPECT_FALSE(readings_.samples.variants[0].keys_by_channel);
  EXPECT_TRUE(readings_.samples.variants[1].keys_by_channel);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
