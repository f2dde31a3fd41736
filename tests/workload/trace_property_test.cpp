#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

TEST(TraceProperties, WhatIsWrittenAsCsvIsReadBack) {
  EXPECT_TRUE(rc::check([] {
    auto arrivals = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1'000'000'000)));
    std::sort(arrivals.begin(), arrivals.end());
    std::string text = "arrival_s,prompt_tokens,output_tokens\n";
    std::vector<std::int64_t> tokens;
    for (const std::int64_t us : arrivals) {
      tokens.push_back(*rc::gen::inRange<std::int64_t>(1, 10'000'001));
      text += fmt::format("{}.{:06},{},{}\n", us / 1'000'000, us % 1'000'000, tokens.back(), 1);
    }
    const auto read = read_trace_text(find_trace_format("csv"), "t", text);
    RC_ASSERT(read.size() == arrivals.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      RC_ASSERT(read[i].arrival_ns == 1'000 * arrivals[i]);
      RC_ASSERT(read[i].prompt_tokens == tokens[i]);
      RC_ASSERT(read[i].id == i);
    }
  }));
}

// Any bytes are either read or refused with a position; nothing else gets out.
TEST(TraceProperties, AnyBytesAreReadOrRefused) {
  EXPECT_TRUE(rc::check([](const std::string& noise, unsigned cut) {
    const std::string valid = "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 2]}\n";
    const std::size_t at = cut % valid.size();
    const std::string text = valid + valid.substr(0, at) + noise + valid.substr(at);
    for (const TraceFormat& format : trace_formats()) {
      const std::string message = error_of(format.name, text);
      RC_ASSERT(message == "(read)" || message.substr(0, 1) == "t");
    }
  }));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
