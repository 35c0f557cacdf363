"""What is said of what to buy: one record for every kind of question, and its sentences. Pure.

Page, ticket, terminal, `-o summary` and verdict.json lay the record out and add no judgement.
"""
