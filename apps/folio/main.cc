#include "folio/commands.h"

int main(int argc, char** argv) { return folio::RunCommandLine(argc, argv); }
