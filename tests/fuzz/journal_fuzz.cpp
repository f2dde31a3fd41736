// The journal of a sweep. With S first every line gets its checksum, so that what stands in it is looked at, too.
#include "planner/sweep/journal.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  std::string_view text = fuzz::text_of(data, size);
  std::string lines;
  if (fuzz::choice(text) == 'S') {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      if (end > 0) lines += planner::sweep::sealed(text.substr(0, end));
      lines += '\n';
      text.remove_prefix(end + 1);
    }
  }
  lines += text;
  const std::string path = folder.put("points.jsonl", lines);
  fuzz::read_or_refused([&] { static_cast<void>(planner::sweep::read_journal(path)); });
  fuzz::read_or_refused([&] { static_cast<void>(planner::sweep::merge_journals({path})); });
  return 0;
}
