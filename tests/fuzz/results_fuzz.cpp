// Results that a report is made of: a page in every form, or an InputError.
#include "tests/fuzz/harness.h"
#include "tools/report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  std::string_view text = fuzz::text_of(data, size);
  std::vector<std::string> paths;
  for (std::size_t i = 0; !text.empty() && i < 3; ++i) {
    paths.push_back(folder.put("result" + std::to_string(i) + ".json", fuzz::next_file(text)));
  }
  fuzz::read_or_refused([&] {
    const page::Page page = report::make_report(report::read_inputs(paths));
    static_cast<void>(page::to_html(page));
    static_cast<void>(page::to_markdown(page));
    static_cast<void>(page::to_csv(page));
    static_cast<void>(page::summary(page));
  });
  return 0;
}
