// The two files of a client of ServeGen's: requests can be drawn from it, or it is refused with an InputError.
#include <algorithm>

#include "planner/traffic/servegen.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  std::string_view text = fuzz::text_of(data, size);
  folder.put_or_remove("chunk-0-trace.csv", fuzz::next_file(text));
  folder.put_or_remove("chunk-0-dataset.json", text);
  fuzz::read_or_refused([&] {
    const planner::traffic::ServeGen clients(folder.path());
    static_cast<void>(clients.expected(0, clients.end_s()));
    int left = 100;
    clients.generate(0, clients.end_s(), 1, [&left](const models::RequestSpec&) { return --left > 0; });
  });
  return 0;
}
