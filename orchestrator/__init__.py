"""tierbench: which disk tier should this distributed SQL database run on?"""

__version__ = "0.1.0"
