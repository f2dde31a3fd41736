// Tables of measured times (one or two), and behind the character RS a replay: read and fitted, or an InputError. The
// searches of a fit end after few steps.
#include "models/calibration/calibrate.h"
#include "models/calibration/replay_files.h"
#include "models/catalogue/catalogue.h"
#include "tests/fuzz/harness.h"

namespace {

struct Enough {};

void fit(const kvsim::models::Readings& readings, const kvsim::models::Catalogue& catalogue) {
  using namespace kvsim;
  const models::GpuSpec gpu = catalogue.gpu("h100-sxm");
  models::CalibrationOptions options;
  options.tables = true;
  int left = 20;
  options.before_step = [&left] {
    if (--left < 0) throw Enough();
  };
  try {
    const models::Calibration fitted = models::calibrate(readings, gpu, {gpu}, {}, options);
    static_cast<void>(models::catalogue_yaml(fitted, gpu));
  } catch (const Enough&) {  // fitting further is not reading
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  static const models::Catalogue catalogue = models::Catalogue::built_in();
  static const models::LlmSpec model = catalogue.model("llama-3.1-8b");
  std::string_view text = fuzz::text_of(data, size);
  const bool replay = fuzz::choice(text) == 'R';
  const std::string_view first = fuzz::next_file(text);
  if (replay) {
    const std::string run = folder.put("replay.yaml", first), rows = folder.put("replay.csv", text);
    fuzz::read_or_refused([&] { static_cast<void>(models::read_replay_rows(rows, models::read_replay_run(run))); });
    return 0;
  }
  const std::string a = folder.put("a.csv", first), b = folder.put("b.csv", text);
  fuzz::read_or_refused([&] {
    models::Readings readings;
    models::read_samples(a, &model, true, readings);
    if (!text.empty()) models::read_samples(b, &model, false, readings);
    fit(readings, catalogue);
  });
  return 0;
}
