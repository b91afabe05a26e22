// Two questions about one text, answered together: the text is computed once.
//   example_generate MODEL.gguf
#include <iostream>
#include <string>
#include <vector>

#include "folio/engine.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto engine = folio::Engine::Open({.model = argv[1], .context = 1024});
  if (!engine) {
    std::cerr << engine.error().Message() << "\n";
    return 1;
  }
  const std::string text =
      "Folio keeps the keys and values of every prompt in blocks of sixteen tokens. A block that "
      "is "
      "full gets a name from its content, and whoever needs the same content takes it. ";
  std::vector<folio::Stream> streams;
  for (const char* question : {"In short, a block is", "A block gets its name from"}) {
    const auto prompt = (*engine)->Tokenize(text + question);
    if (!prompt) return 1;
    auto stream =
        (*engine)->Submit({.prompt = *prompt, .sampling = {.temperature = 0}, .max_tokens = 16});
    if (!stream) return 1;
    streams.push_back(*std::move(stream));
  }
  for (folio::Stream& stream : streams) {
    while (const auto delta = stream.Next()) std::cout << delta->text << std::flush;
    const folio::Usage& usage = stream.outcome().usage;
    std::cout << "\n  [" << usage.prompt_tokens << " tokens of prompt, " << usage.cached_tokens
              << " of them computed by another request]\n";
  }
}
