// What the readers take, what they refuse, and where they say it is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "models/calibration/calibrate.h"
#include "models/calibration/physics.h"
#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

class Reader : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("kvsim-reader-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& text) const {
    const std::string path = (folder_ / "linear.csv").string();
    std::ofstream(path) << text;
    return path;
  }
  static std::string error_of(const std::string& path) {
    Readings readings;
    try {
      read_samples(path, nullptr, true, readings);
    } catch (const schema::InputError& e) {
      return e.what();
    }
    return "no error";
  }
  fs::path folder_;
};

const std::string kHeader = "gpu,framework,version,dtype,m_tokens,n,k,measured_ms";

TEST_F(Reader, FindsColumnsByNameAndIgnoresOthers) {
  Readings readings;
  read_samples(
      file("note,measured_ms,k,n,m_tokens,dtype,version,framework,gpu\nx,0.5,4096,8192,16,fp8,1,vllm,h100_sxm\n"),
      nullptr, true, readings);
  ASSERT_EQ(readings.samples.linear.size(), 1U);
  const LinearSample& row = readings.samples.linear[0];
  EXPECT_EQ(row.weights, NumberFormat::fp8);
  EXPECT_EQ(row.m, 16);
  EXPECT_EQ(row.n, 8192);
  EXPECT_EQ(row.k, 4096);
  EXPECT_DOUBLE_EQ(row.seconds, 0.5e-3);
  EXPECT_EQ(row.from.origin.line(), 2);
}

TEST_F(Reader, KnowsHowEachFormatOfLinearLayersWasMeasured) {
  Readings readings;
  read_samples(
      file(kHeader + "\nb200_sxm,vllm,1,bfloat16,16,8192,4096,0.5\nb200_sxm,vllm,1,fp8_block,16,8192,4096,0.5\n"
                     "b200_sxm,vllm,1,nvfp4,16,8192,4096,0.5\nb200,kvsim,1,fp8,16,8192,4096,0.5\n"
                     "b200_sxm,vllm,1,int4,16,8192,4096,0.5\n"),
      nullptr, true, readings);
  ASSERT_EQ(readings.samples.linear.size(), 4U);
  const std::vector<LinearSample>& rows = readings.samples.linear;
  EXPECT_EQ(rows[0].run.repeated, 6);
  EXPECT_EQ(rows[1].weights, NumberFormat::fp8_block);
  EXPECT_EQ(rows[1].run.repeated, 1);
  EXPECT_TRUE(rows[1].run.launched);
  EXPECT_EQ(rows[2].weights, NumberFormat::nvfp4);
  EXPECT_FALSE(rows[2].run.launched);
  EXPECT_EQ(rows[3].run.repeated, 0);  // L2 is flushed
  ASSERT_EQ(readings.refused.size(), 1U);
  EXPECT_EQ(readings.refused[0].origin.line(), 6);
}

TEST(LayerFolder, SaysModelAndShard) {
  EXPECT_EQ(layer_folder("rtx-pro-6000_qwen3-32b").model, "qwen3-32b");
  EXPECT_EQ(layer_folder("rtx-pro-6000_qwen3-32b").tensor_parallel, 1);
  EXPECT_EQ(layer_folder("rtx-pro-6000_qwen3-32b_tp2").model, "qwen3-32b");
  EXPECT_EQ(layer_folder("rtx-pro-6000_qwen3-32b_tp2").tensor_parallel, 2);
  EXPECT_EQ(layer_folder("qwen3-32b_tp0").tensor_parallel, 1);  // no shard
}

TEST_F(Reader, ALayerProfileOfTwoGpusIsOfHalfTheModel) {
  const LlmSpec model = Catalogue::built_in().model("llama-3.1-8b");
  Readings readings;
  read_samples(file("layer,tokens,time_us\nqkv_proj,1,10\nact_fn,1,3\n"), &model, true, readings, 2);
  ASSERT_EQ(readings.samples.linear.size(), 1U);
  EXPECT_EQ(readings.samples.linear[0].n, (16 + 2 * 4) * 128);
  ASSERT_EQ(readings.samples.elementwise.size(), 1U);
  EXPECT_EQ(readings.samples.elementwise[0].bytes, 3 * 14336 / 2 * 2);
}

TEST_F(Reader, SaysWhereANumberIsNone) {
  const std::string path = file(kHeader + "\nh100_sxm,vllm,1,fp8,16,8192,lots,0.5\n");
  EXPECT_EQ(error_of(path), path + ":2:29: k is \"lots\", expected a number");
}

TEST_F(Reader, AHeaderOfNoKnownTableNamesThoseThatAre) {
  const std::string path = file("a,b\n1,2\n");
  EXPECT_NE(error_of(path).find(path + ":1:1: the header is of no known table"), std::string::npos);
  EXPECT_NE(error_of(path).find("m_tokens"), std::string::npos);
}

TEST_F(Reader, AFormatThatNoProfileHasIsRefusedByLine) {
  Readings readings;
  read_samples(file(kHeader + "\nh100_sxm,vllm,1,int4,16,8192,4096,0.5\n"), nullptr, true, readings);
  ASSERT_EQ(readings.refused.size(), 1U);
  EXPECT_EQ(readings.refused[0].origin.line(), 2);
}

TEST_F(Reader, AttentionOfOtherKindsIsNoDecodeAttention) {
  const std::string columns =
      "gpu,framework,version,kernel,num_heads,num_kv_heads,head_dim,kv_dtype,batch,kv_len,measured_ms";
  const std::string row = "h100_sxm,kvsim,1,x,32,8,128,bfloat16,4,4096,0.1";
  Readings readings;
  for (const char* extra : {"lengths", "longest_kv_len", "kv_bits"}) {
    const std::string path = file(columns + "," + extra + "\n" + row + ",5\n");
    read_samples(path, nullptr, false, readings);
    EXPECT_NE(error_of(path).find("without query_tokens"), std::string::npos);
  }
  EXPECT_TRUE(readings.samples.decode.empty());
  EXPECT_EQ(readings.ignored.size(), 3U) << "those tables have two columns more";
  read_samples(file(columns + ",query_tokens\n" + row + ",5\n"), nullptr, false, readings);
  EXPECT_TRUE(readings.samples.decode.empty());
  ASSERT_EQ(readings.samples.variants.size(), 1U);
  EXPECT_EQ(readings.samples.variants[0].query_tokens, 5);
  read_samples(file(columns + ",p10_ms\n" + row + ",0.1\n"), nullptr, false, readings);
  EXPECT_EQ(readings.samples.decode.size(), 1U);
}

TEST_F(Reader, AFolderWithoutTablesIsAnError) {
  EXPECT_THROW((void)csv_files(folder_.string()), schema::InputError);
}

TEST(Physics, ImpossibleRowsAreRefusedEachForItsReason) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  m.bf16_flops_per_s = 100e12;
  m.l2_bytes = 10e6;
  const auto row = [](double tokens, double seconds) {
    return LinearSample{{}, NumberFormat::bf16, tokens, 10000, 10000, seconds};
  };
  Samples s;
  s.linear = {row(1, 0.21e-3),    // 200 MB at 952 GB/s
              row(2, 0.1e-3),     // 2000 GB/s
              row(1000, 1.5e-3),  // 2e11 FLOPs at 133 TFLOP/s
              row(3, -1),        row(4, std::numeric_limits<double>::quiet_NaN()), row(5, 1e-9), row(6, 0.3e-3),
              row(6, 0.9e-3)};  // contradict each other
  const std::vector<RefusedRow> refused = refuse_impossible(s, m);
  ASSERT_EQ(s.linear.size(), 1U);
  EXPECT_EQ(s.linear[0].m, 1);
  ASSERT_EQ(refused.size(), 7U);
  EXPECT_NE(refused[0].reason.find("2000 GB/s"), std::string::npos);
  EXPECT_NE(refused[1].reason.find("133 TFLOP/s"), std::string::npos);
}

TEST(Physics, ARowThatTakesFarLongerThanItsWorkIsRefused) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  m.bf16_flops_per_s = 100e12;
  m.l2_bytes = 10e6;
  const auto row = [](double tokens, double seconds) {
    return LinearSample{{}, NumberFormat::bf16, tokens, 10000, 10000, seconds};
  };
  Samples s;
  // 200 MB, 0.2 ms at the peak: 0.21 s are 10 ms and a thousandth of the bandwidth.
  s.linear = {row(1, 0.22e-3), row(2, 0.209), row(3, 0.211), row(4, 5)};
  DecodeSample decode;
  decode.kv = NumberFormat::bf16;
  decode.shape = {32, 8, 128};
  decode.requests = 1;
  decode.kv_length = 1000;  // 4.096 MB, 4.096 us
  decode.seconds = 20e-6;
  decode.warm = true;
  s.decode = {decode, decode};
  s.decode.back().kv_length = 1001;
  s.decode.back().seconds = 5;
  const std::vector<RefusedRow> refused = refuse_impossible(s, m);
  ASSERT_EQ(s.linear.size(), 2U);
  ASSERT_EQ(s.decode.size(), 1U);
  ASSERT_EQ(refused.size(), 3U);
  EXPECT_EQ(refused[1].reason, "takes 5 s, expected at most 210 ms: at the peaks its work takes 200 us");
  EXPECT_EQ(refused[2].reason, "takes 5 s, expected at most 14.1 ms: at the peaks its work takes 4.1 us");
}

TEST(Physics, WeightsAreColdWhereSixLayersOfThemDoNotFitL2) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  m.bf16_flops_per_s = 100e12;
  m.l2_bytes = 50e6;
  const auto row = [](double n, double seconds) {
    return LinearSample{{}, NumberFormat::bf16, 1, n, 1000, seconds, {6, false}};
  };
  Samples s;
  s.linear = {row(10000, 21e-6),  // 20 MB at 952 GB/s
              row(10001, 15e-6),  // 1333 GB/s
              row(4000, 2e-6),    // 8 MB at 4000 GB/s, out of L2
              row(4001, 1e-6)};   // 8000 GB/s, which no L2 has
  const std::vector<RefusedRow> refused = refuse_impossible(s, m);
  ASSERT_EQ(s.linear.size(), 2U);
  EXPECT_EQ(s.linear[0].n, 10000);
  EXPECT_EQ(s.linear[1].n, 4000);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_NE(refused[0].reason.find("1333 GB/s"), std::string::npos);
  EXPECT_NE(refused[1].reason.find("8002 GB/s"), std::string::npos);
}

TEST(Physics, SlowRowsTakeLongerThanTheSameLayerWithMoreTokens) {
  const auto row = [](double m, double seconds, NumberFormat format = NumberFormat::fp8, double n = 1000) {
    return LinearSample{{}, format, m, n, 1000, seconds};
  };
  Samples s;
  s.linear = {row(1, 27e-6),  // slower than 8 tokens
              row(8, 13e-6),
              row(16, 15.6e-6),  // 1.2 times as long as 32 tokens take
              row(32, 13e-6),
              row(64, 40e-6),  // slower than 128
              row(128, 20e-6),
              row(1, 27e-6, NumberFormat::fp8, 2000),  // another layer
              row(1, 27e-6, NumberFormat::bf16),
              row(8, 13e-6, NumberFormat::bf16)};  // another format
  const std::vector<RefusedRow> refused = refuse_slow(s, NumberFormat::fp8);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].reason, "takes 27 us where the same layer takes 13 us with 32 tokens");
  EXPECT_EQ(refused[1].reason, "takes 40 us where the same layer takes 20 us with 128 tokens");
  EXPECT_EQ(s.linear.size(), 7U);
  EXPECT_TRUE(refuse_slow(s, NumberFormat::fp8).empty());
}

TEST(Physics, CollectivesTakeAMicrosecondAndReadWhatTheySend) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  Samples s;
  const Collective sum = Collective::all_reduce;
  s.collectives = {{{}, sum, "nccl", 2, 1024, 5e-6},    // plausible
                   {{}, sum, "nccl", 2, 2048, 0.9e-6},  // too short
                   {{}, sum, "nccl", 2, 1e9, 0.9e-3},   // 1111 GB/s
                   {{}, sum, "nccl", 1, 4096, 5e-6}};   // of one GPU
  EXPECT_EQ(refuse_impossible(s, m).size(), 3U);
  ASSERT_EQ(s.collectives.size(), 1U);
  EXPECT_EQ(s.collectives[0].bytes, 1024);
}

TEST(Physics, PartsOfTokensAndHeadsDoNotExist) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  m.bf16_flops_per_s = 100e12;
  m.l2_bytes = 50e6;
  const auto decode = [](double heads, double kv_heads, double requests) {
    return DecodeSample{{}, NumberFormat::bf16, {heads, kv_heads, 128}, requests, 1024, false, 1e-4};
  };
  Samples s;
  s.decode = {decode(8, 2, 4), decode(8, 3, 4), decode(8, 2, 0.5), decode(0.5, 0.5, 4), decode(8, 2, 1.5)};
  s.linear = {{{}, NumberFormat::bf16, 0.5, 100, 100, 1e-4}, {{}, NumberFormat::bf16, 2, 100, 100, 1e-4}};
  s.prefill = {{{}, NumberFormat::bf16, {8, 3, 128}, 1, 16, 0, 0, 0, 1e-4},
               {{}, NumberFormat::bf16, {8, 2, 128}, 1, 16.5, 0, 0, 0, 1e-4},
               {{}, NumberFormat::bf16, {8, 2, 128}, 1, 16, 0, 0, 0, 1e-4}};
  const std::vector<RefusedRow> refused = refuse_impossible(s, m);
  EXPECT_EQ(s.decode.size(), 1U);
  EXPECT_EQ(s.linear.size(), 1U);
  EXPECT_EQ(s.prefill.size(), 1U);
  ASSERT_EQ(refused.size(), 7U);
  EXPECT_EQ(refused[0].reason, "tokens: 0.5, expected a whole number from 1");
  EXPECT_EQ(refused[1].reason, "8 heads cannot share 3 KV heads evenly");
}

TEST(Physics, WarmKvMayBeatTheMemoryByWhatL2Holds) {
  Machine m;
  m.memory_bytes_per_s = 1000e9;
  m.l2_bytes = 50e6;
  // 41.9 MB in 20 us: 2100 GB/s.
  DecodeSample row{{}, NumberFormat::bf16, {8, 1, 128}, 20, 4096, true, 20e-6};
  Samples warm;
  warm.decode = {row};
  EXPECT_TRUE(refuse_impossible(warm, m).empty());
  row.warm = false;
  Samples cold;
  cold.decode = {row};
  EXPECT_EQ(refuse_impossible(cold, m).size(), 1U);
}

TEST(GpuNames, FilesSpellThemInManyWays) {
  EXPECT_TRUE(names_gpu("a100_sxm", "a100"));
  EXPECT_TRUE(names_gpu("h100_sxm", "h100-sxm"));
  EXPECT_TRUE(names_gpu("NVIDIA H100 80GB HBM3", "h100-sxm"));
  EXPECT_TRUE(names_gpu("NVIDIA A100-SXM4-80GB", "a100"));
  EXPECT_TRUE(names_gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"));
  EXPECT_FALSE(names_gpu("NVIDIA A100-SXM4-40GB", "a100"));
  EXPECT_FALSE(names_gpu("NVIDIA H100 NVL", "h100-sxm"));
  EXPECT_FALSE(names_gpu("h100_sxm", "h100-nvl"));
  EXPECT_FALSE(names_gpu("NVIDIA RTX A6000", "rtx-pro-6000"));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
