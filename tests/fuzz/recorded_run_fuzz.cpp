// The folder of a recorded run (its requests, its load over time, what served): a point, or an InputError. With L
// first, requests are JSON lines, else CSV.
#include "planner/backtest/serving_points.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  std::string_view text = fuzz::text_of(data, size);
  const bool lines = fuzz::choice(text) == 'L';
  const std::string_view requests = fuzz::next_file(text);
  folder.put_or_remove("requests.jsonl", lines ? requests : "");
  folder.put_or_remove("requests.csv", lines ? "" : requests);
  folder.put_or_remove("timeseries.csv", fuzz::next_file(text));
  folder.put_or_remove("meta.json", text);
  fuzz::read_or_refused([&] {
    std::vector<planner::backtest::ServingPoint> points =
        planner::backtest::read_points(folder.path(), {{"model_path", "llama-3.1-8b"}, {"system", "h200"}});
    planner::backtest::tell_recordings_apart(points);
  });
  return 0;
}
