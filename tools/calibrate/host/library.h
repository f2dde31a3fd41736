// A library that is opened when it is needed, so that the program starts, and is built, where it is not installed.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>

namespace kvsim::calibrate {

class Library {
 public:
  /// False where it cannot be loaded, with the system's reason. `stays`: loaded until the program ends.
  bool open(const std::string& name, std::string& reason, bool stays = false) {
    library_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0)));
    if (library_) return true;
    const char* said = dlerror();
    reason = said != nullptr ? said : "no reason given";
    return false;
  }
  /// False, and `function` null, where the library has no such function.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    void* const symbol = dlsym(library_.get(), name);
    function = nullptr;
    if (symbol != nullptr) std::memcpy(&function, &symbol, sizeof function);
    return symbol != nullptr;
  }

 private:
  struct Close {
    void operator()(void* of) const { static_cast<void>(dlclose(of)); }
  };
  std::unique_ptr<void, Close> library_;
};

}  // namespace kvsim::calibrate
