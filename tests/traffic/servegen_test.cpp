#include "planner/traffic/servegen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "models/schema/error.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

class ServeGenTest : public ::testing::Test {
 protected:
  ServeGenTest() : folder_(std::filesystem::path(testing::TempDir()) / "kvsim_servegen") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ServeGenTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string folder() const { return folder_.string(); }

  [[nodiscard]] std::vector<models::RequestSpec> drawn(double from_s, double until_s, std::uint64_t seed = 1) const {
    std::vector<models::RequestSpec> requests;
    ServeGen(folder()).generate(from_s, until_s, seed, [&](const models::RequestSpec& r) {
      requests.push_back(r);
      return true;
    });
    return requests;
  }

  [[nodiscard]] std::string refused() const {
    try {
      ServeGen clients(folder());
    } catch (const schema::InputError& e) {
      return e.what();
    }
    return "(read)";
  }

 private:
  std::filesystem::path folder_;
};

constexpr const char* kLengths =
    "{\"0\": {\"input_tokens\": \"{100: 0.25, 300: 0.75}\", \"output_tokens\": \"{7: 1.0}\"},"
    "\"2000\": {\"input_tokens\": \"{}\", \"output_tokens\": \"{}\"}}";

// 2/s for 1,000 s, nothing for as long, 8/s for as long; Gamma with a cv of 1 and Weibull of shape 0.5, whose cv is
// 5^0.5.
TEST_F(ServeGenTest, RatesAndLengthsAreThoseOfTheWindows) {
  write("chunk-4-trace.csv", "0,2,1,Gamma,1,0.5\n1000,0,0,,0,0\n2000,8,2.2,Weibull,0.5,99\n");
  write("chunk-4-dataset.json", kLengths);
  EXPECT_DOUBLE_EQ(ServeGen(folder()).expected(500, 2500), 1000 + 4000);
  EXPECT_DOUBLE_EQ(ServeGen(folder()).end_s(), 3000);
  const auto requests = drawn(0, 3000);
  std::size_t early = 0, between = 0, late = 0, hundred = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].id, i);
    if (i > 0) {
      EXPECT_GE(requests[i].arrival_ns, requests[i - 1].arrival_ns);
    }
    const double at_s = static_cast<double>(requests[i].arrival_ns) / 1e9;
    (at_s < 1000 ? early : at_s < 2000 ? between : late) += 1;
    EXPECT_EQ(requests[i].output_tokens, 7);
    hundred += requests[i].prompt_tokens == 100 ? 1 : 0;
  }
  EXPECT_EQ(between, 0U);
  EXPECT_NEAR(static_cast<double>(early), 2000, 4 * std::sqrt(2000.0));
  EXPECT_NEAR(static_cast<double>(late), 8000, 4 * std::sqrt(5 * 8000.0));
  EXPECT_NEAR(static_cast<double>(hundred) / static_cast<double>(requests.size()), 0.25, 0.02);
}

// Two clients: together, in order; one of them is drawn as if it were alone.
TEST_F(ServeGenTest, ClientsHaveRandomNumbersOfTheirOwn) {
  write("chunk-1-trace.csv", "0,1,1,Gamma,1,1\n100,1,1,Gamma,1,1\n");
  write("chunk-1-dataset.json", kLengths);
  const auto alone = drawn(0, 200);
  write("chunk-2-trace.csv", "0,5,1,Gamma,1,0.2\n100,5,1,Gamma,1,0.2\n");
  write("chunk-2-dataset.json", "{\"0\": {\"input_tokens\": \"{9: 1}\", \"output_tokens\": \"{7: 1}\"}}");
  std::vector<std::int64_t> of_the_first;
  const auto both = drawn(0, 200);
  for (const auto& r : both) {
    if (r.prompt_tokens != 9) of_the_first.push_back(r.arrival_ns);
  }
  ASSERT_EQ(of_the_first.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(of_the_first[i], alone[i].arrival_ns);
  EXPECT_GT(both.size(), 4 * alone.size());
  EXPECT_NE(drawn(0, 200, 2).size(), both.size());
}

TEST_F(ServeGenTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(refused(), folder() +
                           ": there is no client with requests, expected ServeGen's files chunk-N-trace.csv and "
                           "chunk-N-dataset.json");
  const auto with = [&](const std::string& windows) {
    write("chunk-1-trace.csv", windows);
    return refused();
  };
  write("chunk-1-dataset.json", kLengths);
  EXPECT_EQ(with("0,1,1,Gamma,1,1\n600,1,1,Pareto,1,1\n"),
            path("chunk-1-trace.csv") + ":2:9: the law is \"Pareto\", expected Gamma or Weibull");
  EXPECT_EQ(with("0,-1,1,Gamma,1,1\n"),
            path("chunk-1-trace.csv") + ":1:3: the rate is \"-1\", expected a number from 0 to 1000000");
  EXPECT_EQ(with("0,1,1,Gamma,1,1\n600,1,1,Gamma,1,1\n900,1,1,Gamma,1,1\n"),
            path("chunk-1-trace.csv") + ":3:1: the window begins at 900 s, expected 1200: they are equally long");
  EXPECT_EQ(with("0,1\n"),
            path("chunk-1-trace.csv") + ":1:1: the line has 2 fields, expected start, rate, cv, law, shape and scale");
  const std::string good = "0,1,1,Gamma,1,1\n600,1,1,Gamma,1,1\n";
  write("chunk-1-dataset.json", "{\"0\": {\"input_tokens\": \"{5: x}\", \"output_tokens\": \"{7: 1}\"}}");
  EXPECT_EQ(with(good), path("chunk-1-dataset.json") +
                            ": 0.input_tokens: found \"5: x\", expected a dictionary such as {63: 0.18, 64: 0.82}");
  write("chunk-1-dataset.json", "{\"0\": {\"input_tokens\": \"{5: 1}\"}}");
  EXPECT_EQ(with(good), path("chunk-1-dataset.json") + ": 0.output_tokens is missing, expected a dictionary in quotes");
  write("chunk-1-dataset.json", "{}");
  EXPECT_EQ(with(good),
            path("chunk-1-dataset.json") + ": there are no lengths, expected those of a client with requests");
}

// The part of the published data that is at hand: as many requests in two hours as its rates say.
TEST_F(ServeGenTest, PublishedClientsHaveTheirRates) {
  const char* const shared = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  const std::string data = std::string(shared != nullptr ? shared : KVSIM_SHARED_DEFAULT) + "/traces/servegen/";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no " << data;
  for (const char* model : {"deepseek-r1", "m-small"}) {
    const ServeGen clients(data + model);
    std::size_t requests = 0;
    clients.generate(36'000, 43'200, 1, [&](const models::RequestSpec&) { return ++requests > 0; });
    const double expected = clients.expected(36'000, 43'200);
    EXPECT_NEAR(static_cast<double>(requests) / expected, 1, 0.05) << model << ": " << expected << " expected";
  }
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
