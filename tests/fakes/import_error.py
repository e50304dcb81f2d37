"""An adapter whose framework is there and does not load."""

raise ImportError("dlopen(libmetal_plugin.dylib): Symbol not found: _TF_GetInputPropertiesList")
