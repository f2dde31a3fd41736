// Gives every fuzzer the whole of its corpus, so that what was found once stays mended and no fuzzer is forgotten:
//   fuzz_corpora CORPUS
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

// fuzzers.inc, generated: FUZZER(name) for each of CMakeLists.txt.
#define FUZZER(name) extern "C" int name##_fuzz(const std::uint8_t* data, std::size_t size);
#include "fuzzers.inc"
#undef FUZZER

namespace {

struct Fuzzer {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr std::array kFuzzers{
#define FUZZER(name) Fuzzer{#name, name##_fuzz},
#include "fuzzers.inc"
#undef FUZZER
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const Fuzzer& fuzzer : kFuzzers) {
    std::size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(argv[1]) / fuzzer.name)) {
      std::printf("%s: %s\n", fuzzer.name, entry.path().filename().c_str());
      std::fflush(stdout);  // what comes last is what did not survive
      const std::string input = contents(entry.path());
      fuzzer.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      ++inputs;
    }
    if (inputs == 0) return 1;
  }
  return 0;
}
