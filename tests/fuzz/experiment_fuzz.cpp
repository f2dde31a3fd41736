// An experiment and, behind it, the file that its paper shares: read, and asked for all that it wants simulated, or an
// InputError.
#include <memory>

#include "models/schema/yaml.h"
#include "tests/fuzz/harness.h"
#include "tools/validation/experiment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  std::string_view text = fuzz::text_of(data, size);
  if (text.find('/') != std::string_view::npos) return 0;  // no wandering through the file system
  const std::string_view experiment = fuzz::next_file(text);
  fuzz::read_or_refused([&] {
    std::shared_ptr<const validation::SharedFile> shared;
    if (!text.empty()) {
      shared =
          std::make_shared<validation::SharedFile>(validation::read_shared(schema::read_yaml(text, "shared.yaml")));
    }
    const std::vector<validation::ExperimentFile> files{
        validation::read_experiment(schema::read_yaml(experiment, "fuzz.yaml"), "fuzz.yaml", shared)};
    validation::Runs::Options nothing_simulated;
    nothing_simulated.proceed = [] { return false; };
    validation::Runs runs(std::move(nothing_simulated));
    static_cast<void>(validation::reproduce(files, runs, true));
  });
  return 0;
}
